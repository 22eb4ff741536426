package frame

import "strings"

// Tags by which Claude Code and Codex mark their own words in what a model
// reads (seen in requests of Claude Code 2.1.197 and 2.1.328 and of Codex
// 0.171.0).
const (
	// marks are escaped in both forms: nobody else writes them.
	marks = " system-reminder task-notification cross-session-message teammate-message hook_prompt persisted-output" +
		" pasted_content command-name command-message command-args command-contents local-command-stdout" +
		" local-command-stderr local-command-caveat bash-input bash-stdout bash-stderr user-prompt-submit-hook" +
		" user_instructions environment_context user_shell_command turn_aborted subagent_notification" +
		" permissions_instructions collaboration_mode new-diagnostics tool_use_error function_calls function_results "
	// words are ordinary names as well; only their closing form can end
	// something of a client's.
	words = " system reminder summary invoke result error thinking user assistant human developer instructions" +
		" environment command message output stdout stderr "
)

// maxTag bounds the name of a tag; anything longer is not one of a client's.
const maxTag = 64

// defang puts a backslash after the "<" of each tag that a client might take
// for its own, as Claude Code escapes it itself ("<\/system-reminder>").
// Ordinary markup and code (<div>, a < b, Map<string>) stay as they are.
func defang(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i+1])
		s = s[i+1:]
		if isClientTag(s) {
			b.WriteByte('\\')
		}
	}
}

// isClientTag reports whether s, the text after a "<", is a tag of a
// client's: white space, an optional slash, white space, a name. New versions
// bring new names with '-', '_' or ':' in them, so any such closing tag is one.
func isClientTag(s string) bool {
	s = strings.TrimLeft(s[:min(len(s), 2*maxTag)], " \t\n")
	rest, closing := strings.CutPrefix(s, "/")
	rest = strings.TrimLeft(rest, " \t\n")
	n := 0
	for n < len(rest) && isNameByte(rest[n]) {
		n++
	}
	if n == 0 || n > maxTag {
		return false
	}
	name := strings.ToLower(rest[:n])
	switch {
	case strings.Contains(marks, " "+name+" "), strings.HasPrefix(name, "antml:"):
		return true
	case closing:
		return strings.ContainsAny(name, "-_:") || strings.Contains(words, " "+name+" ")
	}
	return false
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == ':'
}
