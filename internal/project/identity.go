package project

import (
	"errors"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RepoIdentity is the name and path that repository mail to a place goes by: the
// repository's own, or else the one that declared (the value of PEERMUX_REPO)
// gives to a directory that is none. A declared name is a name alone, or a path
// whose base name is the name. Reserved and malformed names are no identity.
func RepoIdentity(p Place, declared string) (name, path string, ok bool) {
	switch {
	case p.IsRepo:
		name, path = p.Repo, p.Root
	case strings.ContainsRune(declared, filepath.Separator):
		path = filepath.Clean(declared)
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		name = filepath.Base(path)
	case declared != "":
		name, path = declared, p.Root
	default:
		return "", "", false
	}
	if !validRepo(name) {
		return "", "", false
	}
	return name, path, true
}

// validRepo is more lenient than [ValidName], since nobody chose a folder's name
// with us in mind: "My Project" and ".dotfiles" are repositories too.
func validRepo(name string) bool {
	return name != "" && name != "." && name != ".." &&
		!strings.HasPrefix(name, "_") && !strings.ContainsRune(name, '/') &&
		utf8.ValidString(name) && !strings.ContainsFunc(name, unprintable) &&
		strings.TrimSpace(name) == name
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// maxName is the length limit of group and repository names, in bytes.
const maxName = 64

// ValidName checks the name of a group or a repository: printable, without
// spaces, slashes or a colon, at most 64 bytes, and not beginning with "_"
// (reserved), "-" or ".".
func ValidName(s string) error {
	switch {
	case s == "":
		return errors.New("the name is empty")
	case len(s) > maxName:
		return errors.New("the name is longer than 64 bytes")
	case !utf8.ValidString(s):
		return errors.New("the name is not valid UTF-8")
	case strings.HasPrefix(s, "_"):
		return errors.New(`names that begin with "_" are reserved`)
	case strings.HasPrefix(s, "-"), strings.HasPrefix(s, "."):
		return errors.New(`a name may not begin with "-" or "."`)
	}
	for _, r := range s {
		if strings.ContainsRune(`/\:`, r) || unicode.IsSpace(r) || unprintable(r) {
			return errors.New("a name may hold letters, digits and punctuation, but no spaces, control characters, slashes or colons")
		}
	}
	return nil
}
