package mailbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The two feeds that need no name.
const (
	FeedGlobal = "global" // every session of this user on this machine
	FeedRepos  = "repos"  // standing announcements to all repositories
)

const (
	journalName = "journal.jsonl"
	badName     = "journal.bad"
	bellName    = "bell"

	maxReadable = 40  // characters of an id that a key shows
	maxKey      = 100 // far below what any file system allows
)

// SessionKey is the box of the session with this id.
func SessionKey(id string) string { return "s-" + readable(id) + "-" + hash(id) }

// RepoKey is the box of the repository whose main folder is path.
func RepoKey(path string) string {
	path = filepath.Clean(path)
	return "r-" + readable(filepath.Base(path)) + "-" + hash(path)
}

// UserKey is the box of a person; "" is the person at the keyboard, "user".
func UserKey(name string) string {
	if name == "" {
		name = "user"
	}
	return "u-" + readable(name) + "-" + hash(name)
}

// AppKey is the box of an app of the gateway.
func AppKey(name string) string { return "a-" + readable(name) + "-" + hash(name) }

// PendingKey is the box of a process that does not know its session yet.
func PendingKey(pid int, start string) string {
	key := "p-" + strconv.Itoa(pid) + "-" + readable(start)
	if readable(start) != start {
		key += "-" + hash(start)
	}
	return key
}

// FeedProject is the feed of a project, named by its root folder.
func FeedProject(root string) string {
	root = filepath.Clean(root)
	return "project-" + readable(filepath.Base(root)) + "-" + hash(root)
}

// FeedGroup is the feed of a group of projects.
func FeedGroup(name string) string { return "group-" + readable(name) + "-" + hash(name) }

// JournalPath is the journal of a box.
func JournalPath(home, key string) string {
	return filepath.Join(home, "boxes", key, journalName)
}

// BellPath is the file that is rewritten to wake a client that watches it: the change
// is what counts. It holds the time, and the word [BellBroadcast] when it rings for
// an urgent broadcast too.
func BellPath(home, key string) string { return filepath.Join(home, "boxes", key, bellName) }

// FeedPath is the journal of a feed.
func FeedPath(home, feed string) string { return filepath.Join(home, "feeds", feed+".jsonl") }

// readable makes the part of a key that a person recognises. It loses what it
// must, so the hash of the exact id always follows.
func readable(id string) string {
	var b strings.Builder
	for _, r := range id {
		if b.Len() == maxReadable {
			break
		}
		if keyChar(r) && (r != '.' || b.Len() > 0) {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

func keyChar(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// hash tells ids apart that read the same, also on file systems that ignore case.
func hash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// place is where a journal lies: a box's or a feed's.
type place struct {
	key  string
	path string
	feed bool
	repo bool // shown is per reader, and closing is for all
}

func (s *Store) box(key string) (place, error) {
	if !validBox(key) {
		return place{}, fmt.Errorf("%q is not a box key; keys come from SessionKey, RepoKey, UserKey, AppKey and PendingKey", key)
	}
	return place{key: key, path: JournalPath(s.home, key), repo: key[0] == 'r'}, nil
}

func (s *Store) feed(key string) (place, error) {
	if !validKey(key) {
		return place{}, fmt.Errorf("%q is not a feed key; keys come from FeedProject, FeedGroup, FeedGlobal and FeedRepos", key)
	}
	return place{key: key, path: FeedPath(s.home, key), feed: true}, nil
}

func validBox(key string) bool {
	return len(key) > 2 && strings.Contains("sruap", key[:1]) && key[1] == '-' && validKey(key)
}

// validKey keeps every key a single, visible path element.
func validKey(key string) bool {
	if key == "" || len(key) > maxKey || key[0] == '.' || key[0] == '-' {
		return false
	}
	return strings.IndexFunc(key, func(r rune) bool { return !keyChar(r) }) < 0
}
