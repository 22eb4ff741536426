// Package shellquote writes words so that a person's shell, of whatever make, reads them
// as they are.
package shellquote

import "strings"

// Quote quotes what sh, bash, zsh, ksh or fish might read otherwise. Backslashes stand
// outside the quotes, since fish reads some of those inside.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("/._+:@%-", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.NewReplacer("'", `'\''`, `\`, `'\\'`).Replace(s) + "'"
}
