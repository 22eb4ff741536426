package transcript

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// maxEncoded is how many characters of an encoded folder name Claude Code keeps
// before it cuts the name and adds a hash (2.1.197, 2.1.328).
const maxEncoded = 200

// ClaudePath returns where Claude Code keeps the transcript of a session that
// runs in cwd: <claudeDir>/projects/<encoded cwd>/<sessionID>.jsonl. Claude
// encodes the real path, so symlinks are resolved when cwd exists. The file
// itself appears with the first prompt and may not exist yet. The encoding is
// not injective: two directories can share a folder.
func ClaudePath(claudeDir, cwd, sessionID string) string {
	return filepath.Join(ClaudeFolder(claudeDir, cwd), sessionID+".jsonl")
}

// ClaudeFolder returns the folder that holds the transcripts of all Claude
// sessions that run in cwd.
func ClaudeFolder(claudeDir, cwd string) string {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	return filepath.Join(claudeDir, "projects", encodeClaude(cwd))
}

// encodeClaude is Claude's rule for folder names: each UTF-16 code unit outside
// [A-Za-z0-9] becomes a dash; beyond 200 the name is cut and the base-36 Java
// hash of the whole path is added.
func encodeClaude(path string) string {
	units := utf16.Encode([]rune(path))
	out := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		out[i] = '-'
		if u < 0x80 && isAlnum(byte(u)) {
			out[i] = byte(u)
		}
	}
	if len(out) <= maxEncoded {
		return string(out)
	}
	sum := int64(hash)
	if sum < 0 {
		sum = -sum
	}
	return string(out[:maxEncoded]) + "-" + strconv.FormatInt(sum, 36)
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// CodexPath finds the rollout file in which a Codex thread goes on, below
// codexHome, and says whether there is one: Codex writes it at the thread's
// first turn. When the user goes back in a thread, Codex 0.171 leaves the file
// and begins another of the same thread, perhaps in another day's folder; the
// newest is returned. Archived threads are found too.
func CodexPath(codexHome, threadID string) (string, bool) {
	return findRollout(codexHome, threadID, func(r rollout) bool { return r.thread == threadID })
}

// codexBase finds the file with the records that a fork, or a thread in which
// the user went back, builds upon. Its id is a thread's, or a segment's.
func codexBase(codexHome, id string) (string, bool) {
	return findRollout(codexHome, id, func(r rollout) bool {
		return r.segment == id || r.segment == "" && r.thread == id
	})
}

// findRollout returns the newest file that matches. Ids are UUIDs of version 7:
// no file of one is older than the id, so the search ends at its day.
func findRollout(codexHome, id string, matches func(rollout) bool) (string, bool) {
	if !safeID(id) {
		return "", false
	}
	sessions := filepath.Join(codexHome, "sessions")
	oldest := sessions
	if at, ok := uuidTime(id); ok {
		// The folder is named in the local time of whoever wrote it.
		oldest = filepath.Join(sessions, at.Add(-24*time.Hour).Format("2006/01/02"))
	}
	for dir := range codexDays(sessions) {
		if dir < oldest {
			break
		}
		if file, ok := newestIn(dir, matches); ok {
			return file, true
		}
	}
	return newestIn(filepath.Join(codexHome, "archived_sessions"), matches)
}

// newestIn returns the matching file in dir with the greatest segment.
func newestIn(dir string, matches func(rollout) bool) (string, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	best, segment := "", ""
	for _, e := range entries {
		r, ok := parseRollout(e.Name())
		if ok && matches(r) && (best == "" || r.segment > segment) {
			best, segment = filepath.Join(dir, e.Name()), r.segment
		}
	}
	return best, best != ""
}

// rollout is what a rollout file's name says.
type rollout struct {
	thread  string
	segment string // "" in the thread's first file
}

// parseRollout reads rollout-<local time>-<thread>.jsonl, or
// rollout-<local time>-<thread>_<segment>.jsonl.
func parseRollout(name string) (rollout, bool) {
	const stamp = len("2006-01-02T15-04-05-")
	name, ok := strings.CutPrefix(filepath.Base(name), "rollout-")
	name, isLines := strings.CutSuffix(name, ".jsonl")
	if !ok || !isLines || len(name) <= stamp {
		return rollout{}, false
	}
	thread, segment, _ := strings.Cut(name[stamp:], "_")
	return rollout{thread, segment}, safeID(thread)
}

// codexDays yields the day folders below a Codex sessions folder, newest first.
func codexDays(sessions string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, year := range dirsDescending(sessions) {
			for _, month := range dirsDescending(year) {
				for _, day := range dirsDescending(month) {
					if !yield(day) {
						return
					}
				}
			}
		}
	}
}

func dirsDescending(dir string) []string {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil
	}
	var out []string
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].IsDir() {
			out = append(out, filepath.Join(dir, entries[i].Name()))
		}
	}
	return out
}

// safeID reports whether id can stand in a file name without leaving the folder.
func safeID(id string) bool {
	for i := range len(id) {
		if !isAlnum(id[i]) && id[i] != '-' && id[i] != '_' {
			return false
		}
	}
	return id != ""
}

// uuidTime reads the time stamp of a version 7 UUID.
func uuidTime(id string) (time.Time, bool) {
	if len(id) != 36 || id[14] != '7' {
		return time.Time{}, false
	}
	raw, err := hex.DecodeString(id[:8] + id[9:13])
	if err != nil {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range raw {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms), true
}
