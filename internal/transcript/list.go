package transcript

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"peermux/internal/shellquote"
)

// Conversation is one transcript, as a list shows it.
type Conversation struct {
	Client      string    `json:"client"`
	SessionID   string    `json:"session_id"`
	Title       string    `json:"title,omitempty"`        // given by the user or the client
	FirstPrompt string    `json:"first_prompt,omitempty"` // one line of it
	File        string    `json:"file"`
	CWD         string    `json:"cwd,omitempty"`
	Branch      string    `json:"branch,omitempty"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	LastAt      time.Time `json:"last_at,omitzero"` // of the newest record, not of the file: copying and touching change that
	Turns       int       `json:"turns"`            // as Claude counts them since 2.1.328, else prompts of the user
	Estimated   bool      `json:"turns_estimated,omitempty"`
	Size        int64     `json:"size"` // bytes
	ForkOf      string    `json:"fork_of,omitempty"`
	Resume      string    `json:"resume"` // the command that continues it

	older []string // files that File goes on from
}

// Files returns the files that hold the conversation, oldest first. There is
// more than one for a Codex thread in which the user went back.
func (c *Conversation) Files() []string {
	return append(slices.Clone(c.older), c.File)
}

// ListOptions say where to look. Dirs are the directories of a project; those
// that ran in one of them or below are listed. Without Dirs all are.
type ListOptions struct {
	ClaudeDir string // "" leaves Claude out
	CodexHome string // "" leaves Codex out
	Dirs      []string
}

// List returns the conversations that the clients have on disk, newest first.
// It reads only the head and the tail of each file; so the number of turns of a
// large one is an estimate, and marked as one. Conversations of subagents and
// files without a prompt are left out. A folder that cannot be read is an
// error, a single file is not.
func List(ctx context.Context, o ListOptions) ([]Conversation, error) {
	o.Dirs = bothForms(o.Dirs)
	var files []string
	for _, find := range []func(ListOptions) ([]string, error){claudeFiles, codexFiles} {
		found, err := find(o)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		files = append(files, found...)
	}
	names, err := threadNames(o.CodexHome)
	if err != nil {
		return nil, err
	}
	found := make([]*Conversation, len(files))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			d := describer{o: o, names: names, buf: make([]byte, wholeSize)}
			defer func() { d.dir.close() }()
			for i := range next {
				if ctx.Err() == nil {
					found[i] = d.describe(files[i])
				}
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wg.Wait()
	var out []Conversation
	for _, c := range found {
		if c != nil {
			out = append(out, *c)
		}
	}
	out = oneForEach(out)
	slices.SortStableFunc(out, func(a, b Conversation) int {
		return cmp.Or(b.LastAt.Compare(a.LastAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	return out, ctx.Err()
}

// oneForEach joins the files of a Codex thread in which the user went back: the
// newest is where it goes on. Prompts that were taken back count as well, so the
// number of turns becomes an estimate.
func oneForEach(list []Conversation) []Conversation {
	segment := func(c Conversation) string {
		r, _ := parseRollout(c.File)
		return r.segment
	}
	slices.SortFunc(list, func(a, b Conversation) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(segment(b), segment(a)))
	})
	var out []Conversation
	for _, c := range list {
		last := len(out) - 1
		if c.Client != Codex || last < 0 || out[last].SessionID != c.SessionID || out[last].Client != Codex {
			out = append(out, c)
			continue
		}
		newest := &out[last]
		newest.Turns += c.Turns
		newest.Estimated = true
		newest.Size += c.Size
		newest.older = append([]string{c.File}, newest.older...)
		newest.StartedAt = c.StartedAt
		newest.FirstPrompt = cmp.Or(c.FirstPrompt, newest.FirstPrompt)
	}
	return out
}

// bothForms adds the resolved form of each directory: Claude writes down the
// real path, Codex what it was started in.
func bothForms(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		d = filepath.Clean(d)
		out = append(out, d)
		if real, err := filepath.EvalSymlinks(d); err == nil && real != d {
			out = append(out, real)
		}
	}
	return out
}

// within reports whether cwd is one of the project's directories or below one.
func (o ListOptions) within(cwd string) bool {
	if len(o.Dirs) == 0 {
		return true
	}
	for _, d := range o.Dirs {
		if rest, ok := strings.CutPrefix(cwd, strings.TrimSuffix(d, "/")); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// claudeFiles returns the transcripts in the folders that may belong to the
// project; which of them do is told by the directory that stands in them.
func claudeFiles(o ListOptions) ([]string, error) {
	if o.ClaudeDir == "" {
		return nil, nil
	}
	projects := filepath.Join(o.ClaudeDir, "projects")
	folders, err := os.ReadDir(projects)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, folder := range folders {
		if !folder.IsDir() || !o.mayHold(folder.Name()) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(projects, folder.Name()))
		if err != nil {
			continue // removed meanwhile
		}
		for _, e := range entries {
			if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".jsonl") {
				files = append(files, filepath.Join(projects, folder.Name(), e.Name()))
			}
		}
	}
	return files, nil
}

func (o ListOptions) mayHold(folder string) bool {
	if len(o.Dirs) == 0 {
		return true
	}
	for _, d := range o.Dirs {
		name := encodeClaude(d)
		if folder == name || strings.HasPrefix(folder, name[:min(len(name), maxEncoded)]) {
			return true
		}
	}
	return false
}

func codexFiles(o ListOptions) ([]string, error) {
	if o.CodexHome == "" {
		return nil, nil
	}
	dirs := slices.Collect(codexDays(filepath.Join(o.CodexHome, "sessions")))
	dirs = append(dirs, filepath.Join(o.CodexHome, "archived_sessions"))
	var files []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			file := filepath.Join(dir, e.Name())
			if e.Type().IsRegular() && ClientOf(file) == Codex {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// threadNames reads the names of Codex's threads: one line for each naming, of
// which the last counts.
func threadNames(codexHome string) (map[string]string, error) {
	names := map[string]string{}
	if codexHome == "" {
		return names, nil
	}
	f, err := openInside(filepath.Join(codexHome, "session_index.jsonl"), codexHome)
	if errors.Is(err, fs.ErrNotExist) {
		return names, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const enough = 4 << 20 // some 30,000 namings
	data, err := readInto(f, max(0, info.Size()-enough), make([]byte, min(info.Size(), enough)))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		var id, name string
		members([]byte(line), func(key, value []byte) bool {
			switch string(key) {
			case "id":
				id = text(value)
			case "thread_name":
				name = text(value)
			}
			return true
		})
		if id != "" {
			names[id] = name
		}
	}
	return names, nil
}

// resumeCommand is what a person types to continue a conversation.
func resumeCommand(c *Conversation) string {
	command := "claude --resume " + c.SessionID
	if c.Client == Codex {
		command = "codex resume " + c.SessionID
	}
	if c.CWD == "" {
		return command
	}
	return "cd " + shellquote.Quote(c.CWD) + " && " + command
}
