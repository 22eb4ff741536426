package registry

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// maxNameRunes bounds a session's name, which people type and lists align.
const maxNameRunes = 32

// UniqueName is want, made fit to be typed, with a number when another session
// has it already. taken may hold the session's own entries: those of the server
// with the pid self, and of its session, do not count.
func UniqueName(want string, taken []Entry, self int) string {
	base := cleanName(want)
	used := map[string]bool{"user": true} // the person's name as a target
	own := ownSession(taken, self)
	for _, e := range taken {
		if e.PID != self && (own == "" || e.SessionID != own) {
			used[strings.ToLower(e.Name)] = true
		}
	}
	name := base
	for n := 2; used[strings.ToLower(name)]; n++ {
		suffix := "-" + strconv.Itoa(n)
		name = truncate(base, maxNameRunes-len(suffix)) + suffix
	}
	return name
}

func ownSession(entries []Entry, self int) string {
	for _, e := range entries {
		if e.PID == self {
			return e.SessionID
		}
	}
	return ""
}

// cleanName keeps letters, digits, "-", "_" and "."; all else becomes one "-".
// What a target may not begin with ("%", "pid:", "repo:") can thus not arise.
func cleanName(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', r == '.', r == '-':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	name := strings.Trim(b.String(), "-.")
	if name = truncate(name, maxNameRunes); name == "" {
		return "session"
	}
	return name
}

func truncate(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return strings.TrimRight(string(r[:runes]), "-.")
	}
	return s
}

// PreferredName is the name a session would like to have: the one its client
// gives it, else that of its tmux window or session, else its project's folder.
func PreferredName(clientName string, e Entry) string {
	if clientName != "" {
		return clientName
	}
	if e.Tmux != nil {
		for _, name := range []string{e.Tmux.Window, e.Tmux.Session} {
			if !generic(name) {
				return name
			}
		}
	}
	if e.Project != "" && filepath.Base(e.Project) != "/" {
		return filepath.Base(e.Project)
	}
	return e.Client.Kind
}

// generic reports whether tmux itself made the name: numbers for sessions, the
// running command for windows (automatic-rename), where Claude shows as its
// version number.
func generic(name string) bool {
	if strings.Trim(name, "0123456789.") == "" {
		return true
	}
	switch strings.TrimSuffix(name, ".exe") {
	case "bash", "zsh", "sh", "fish", "dash", "ksh", "node", "bun", "env", "npx", "tmux", "ssh", "claude", "codex", "peermux":
		return true
	}
	return false
}
