package tmux

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Sockets lists the server sockets of this user that exist: the one in $TMUX
// first, then those in tmux's own folder (what "tmux -L name" makes). Sockets
// made by "tmux -S path" elsewhere are known only from a session's own $TMUX.
func Sockets(env func(string) string) []string {
	var found []string
	seen := map[string]bool{}
	add := func(path string) {
		if path == "" || !filepath.IsAbs(path) || seen[path] {
			return
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode()&os.ModeSocket == 0 {
			return
		}
		seen[path] = true
		found = append(found, path)
	}
	add(SocketOf(env("TMUX")))
	for _, dir := range socketDirs(env) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // no server was ever started there
		}
		for _, e := range entries {
			add(filepath.Join(dir, e.Name()))
		}
	}
	return found
}

// socketDirs are the folders where tmux puts sockets by name. A TMUX_TMPDIR that
// does not exist makes tmux fall back to /tmp without a word (3.3a), so both are
// looked at. $TMPDIR plays no part, on macOS neither.
func socketDirs(env func(string) string) []string {
	leaf := "tmux-" + strconv.Itoa(os.Getuid())
	var dirs []string
	if dir := env("TMUX_TMPDIR"); dir != "" {
		dirs = append(dirs, filepath.Join(dir, leaf))
	}
	return append(dirs, filepath.Join("/tmp", leaf))
}

// SocketOf takes the socket path out of a $TMUX value ("path,server pid,session").
// The path itself may hold commas.
func SocketOf(tmuxEnv string) string {
	rest, _, ok := cutLast(tmuxEnv)
	if !ok {
		return ""
	}
	path, _, ok := cutLast(rest)
	if !ok {
		return ""
	}
	return path
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ',')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}
