package switchboard

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"peermux/detect"
	"peermux/internal/project"
	"peermux/internal/transcript"
	"peermux/registry"
)

// ConversationRow is one conversation of a project, live or past.
type ConversationRow struct {
	transcript.Conversation
	Live       bool     `json:"live"`
	Name       string   `json:"name,omitempty"`   // of the live session
	Status     string   `json:"status,omitempty"` // of the live session
	AgeSeconds *float64 `json:"age_seconds,omitempty"`
}

// ConversationsResult is what peermux transcripts shows.
type ConversationsResult struct {
	OK            bool              `json:"ok"`
	Project       string            `json:"project"`
	Conversations []ConversationRow `json:"conversations"`
}

// Conversations lists the conversations that ran in a project, in its worktrees
// or below them, newest first: the live ones, and past ones with the command that
// resumes them. dir is a directory of the project, "" for the actor's own. An
// agent sees only what it could address.
func (b *Board) Conversations(ctx context.Context, a Actor, dir string) (ConversationsResult, error) {
	root, err := b.listRoot(a, ListRequest{Scope: ScopeProject, Project: dir})
	if err != nil {
		return ConversationsResult{}, err
	}
	if a.isSession() && root != a.Project && !b.reach(a).Includes(registry.Entry{Project: root, Group: b.groupOf(root)}) {
		return ConversationsResult{}, refuse(CodeOutOfScope, "that project is not in reach of this session; join its group, or set PEERMUX_REACH=machine")
	}
	live, err := b.peek()
	if err != nil {
		return ConversationsResult{}, err
	}
	live = slices.DeleteFunc(live, func(e registry.Entry) bool { return e.Project != root })
	found, err := b.conversationsIn(ctx, root, live)
	if err != nil {
		return ConversationsResult{}, err
	}
	return ConversationsResult{OK: true, Project: root, Conversations: b.rows(found, live)}, nil
}

// conversationsIn reads the clients' folders: ours, and those of live sessions
// that were started with others.
func (b *Board) conversationsIn(ctx context.Context, root string, live []registry.Entry) ([]transcript.Conversation, error) {
	dirs := append([]string{root}, project.Worktrees(root)...)
	type folders struct{ claude, codex string }
	own := func(key string) string {
		if key == "HOME" {
			return b.UserHome
		}
		return b.Env(key)
	}
	all := []folders{{detect.ClaudeDir(own), detect.CodexHome(own)}}
	for _, e := range live {
		env := b.clientEnv(e)
		f := folders{detect.ClaudeDir(env), detect.CodexHome(env)}
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
		if e.CWD != "" {
			dirs = append(dirs, e.CWD)
		}
	}
	var out []transcript.Conversation
	for _, f := range all {
		list, err := transcript.List(ctx, transcript.ListOptions{ClaudeDir: f.claude, CodexHome: f.codex, Dirs: dirs})
		if err != nil {
			return nil, refuse(CodeStorageError, "the conversations cannot be listed: %v", err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// unprompted is the row of a live session that its user has not prompted: it has no
// transcript yet, or one in which only peers speak.
func unprompted(e registry.Entry) ConversationRow {
	c := transcript.Conversation{
		Client: e.Client.Kind, SessionID: e.SessionID, File: e.Transcript, CWD: e.CWD, Branch: e.Branch,
		StartedAt: e.StartedAt, LastAt: e.StartedAt,
	}
	if info, err := os.Stat(e.Transcript); err == nil {
		c.Size, c.LastAt = info.Size(), info.ModTime()
	}
	return ConversationRow{Conversation: c}
}

// rows joins what is on disk with who is alive. A live session that was never
// prompted is listed all the same.
func (b *Board) rows(found []transcript.Conversation, live []registry.Entry) []ConversationRow {
	rows := []ConversationRow{}
	byID := map[string]int{}
	for _, c := range found {
		if _, twice := byID[c.SessionID]; twice {
			continue // two homes share a folder by a link
		}
		byID[c.SessionID] = len(rows)
		rows = append(rows, ConversationRow{Conversation: c})
	}
	for _, e := range live {
		i, ok := byID[e.SessionID]
		if !ok {
			i = len(rows)
			rows = append(rows, unprompted(e))
		}
		row := &rows[i]
		row.Live, row.Name, row.Status = true, e.Name, b.StatusOf(e).Word
		row.Resume = "" // it runs: resuming it would make a second writer
	}
	for i := range rows {
		if at := rows[i].LastAt; !at.IsZero() {
			age := max(0, b.Now().Sub(at).Seconds())
			rows[i].AgeSeconds = &age
		}
	}
	slices.SortStableFunc(rows, func(x, y ConversationRow) int { return y.LastAt.Compare(x.LastAt) })
	return rows
}

// Words is where the words of a session stand.
type Words struct {
	Name      string // of a live session
	Title     string // of a past one
	Client    string
	SessionID string
	File      string
	Root      string // the client's folder, which the file must not leave
	Tied      string // how the file was tied to the session
	Live      bool
	client    registry.Client
}

// FindWords finds the transcript of a live session by its target, or of a past
// conversation by its id or the beginning of it. dir is the project in which past
// ones are looked for, "" for the actor's own.
func (b *Board) FindWords(ctx context.Context, a Actor, target, dir string) (Words, error) {
	live, err := b.peek()
	if err != nil {
		return Words{}, err
	}
	t, err := registry.Resolve(target, b.reach(a), live, registry.ResolveOptions{})
	switch {
	case err == nil && t.Kind != registry.ToSession:
		return Words{}, refuse(CodeBadRequest, "%s is no session, so there is nothing to read", target)
	case err == nil && t.Entry.Transcript == "":
		return Words{}, refuse(CodeBadRequest, "%s: %s", t.Entry.Name, noTranscript)
	case err == nil:
		return b.wordsOf(*t.Entry), nil
	}
	if w, ok, pastErr := b.pastWords(ctx, a, target, dir); ok {
		return w, pastErr
	}
	return Words{}, AsError(err)
}

func (b *Board) wordsOf(e registry.Entry) Words {
	w := Words{
		Name: e.Name, SessionID: e.SessionID, File: e.Transcript, Root: b.transcriptRoot(e),
		Tied: sourceWord(e.SessionSource), Live: true, client: e.Client,
	}
	if e.Client.Kind == registry.Claude || e.Client.Kind == registry.Codex {
		w.Client = e.Client.Kind
	}
	return w
}

const noTranscript = "its transcript is not known: the client writes it at the first prompt, and only a proven one is read"

// minPrefix is how much of an id must be given, as for live sessions.
const minPrefix = 6

// pastWords finds a past conversation of the project; ok is false when the target
// is no id of one.
func (b *Board) pastWords(ctx context.Context, a Actor, target, dir string) (w Words, ok bool, err error) {
	if len(target) < minPrefix || strings.ContainsAny(target, ":%/ ") {
		return Words{}, false, nil
	}
	res, err := b.Conversations(ctx, a, dir)
	if err != nil {
		return Words{}, true, err
	}
	var matches []ConversationRow
	for _, row := range res.Conversations {
		if row.SessionID == target {
			matches = []ConversationRow{row}
			break
		}
		if strings.HasPrefix(row.SessionID, target) && row.File != "" {
			matches = append(matches, row)
		}
	}
	switch len(matches) {
	case 0:
		return Words{}, false, nil
	case 1:
		m := matches[0]
		return Words{
			Title: cmp.Or(m.Title, m.FirstPrompt), Client: m.Client, SessionID: m.SessionID,
			File: m.File, Root: transcript.ClientFolder(m.File),
			Tied: "its name, which is the id of a past conversation of this project",
		}, true, nil
	}
	var candidates []registry.Candidate
	for _, m := range matches {
		candidates = append(candidates, registry.Candidate{Target: m.SessionID, Name: cmp.Or(m.Title, m.FirstPrompt), SessionID: m.SessionID, Client: m.Client})
	}
	return Words{}, true, refuse(CodeAmbiguousTarget, "%d conversations of this project begin with %s; give more of the id", len(matches), target).
		with("candidates", candidates)
}

// Tail reads the newest turns that stand in w.
func (b *Board) Tail(ctx context.Context, w Words, r ReadSessionRequest) (transcript.Tail, error) {
	return transcript.ReadTail(ctx, w.File, transcript.Options{
		Client: w.Client, SessionID: w.SessionID, Root: w.Root, Now: b.Now(),
		Limit: r.Limit, MaxBytes: r.MaxBytes, Sidechains: r.Subagents, Unmasked: r.Unmasked,
	})
}

// readWords fills in the newest turns, or says why there are none to read.
func (b *Board) readWords(ctx context.Context, w Words, r ReadSessionRequest, read *SessionRead) (why string, err error) {
	if w.File == "" {
		return noTranscript, nil
	}
	tail, err := b.Tail(ctx, w, r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its transcript is not there yet: the client writes it at the first prompt", nil
	case err != nil && ctx.Err() != nil:
		return "", AsError(ctx.Err())
	case err != nil:
		return "", refuse(CodeBadRequest, "the transcript of %s cannot be read: %v", cmp.Or(w.Name, w.SessionID), err)
	}
	read.Mode, read.Turns = ModeTranscript, tail.Turns
	read.Source = tail.File + ", tied to the session by " + w.Tied
	at := tail.LastAt // the file's own time changes when it is copied or touched
	if at.IsZero() {
		at = tail.ModTime // old lines of Codex carry no time
	}
	read.ModifiedAt = timePtr(at)
	age := max(0, b.Now().Sub(at).Seconds())
	read.AgeSeconds = &age
	read.Complete = &tail.LastComplete
	read.Truncated, read.Omitted, read.Masked = tail.Truncated, tail.Omitted, tail.Masked
	if tail.ForkOf != "" {
		read.Notes = append(read.Notes, "the older turns are those of "+tail.ForkOf+", which this conversation was forked from")
	}
	if w.Live {
		read.Notes = append(read.Notes, "a quiet transcript is no proof that the peer has not answered; message_status tells that")
	}
	return "", nil
}
