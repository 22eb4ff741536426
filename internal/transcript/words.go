package transcript

import (
	"fmt"
	"strings"

	"peermux/internal/frame"
)

// isMail reports whether words hold a page of peermux mail, in whichever way it
// reached the model. A page that quotes somebody ends with the frame's closing
// sentence; one that only reminds is known by its start, if a hook gave it.
func isMail(words string, fromHook bool) bool {
	return strings.Contains(words, frame.Closing) || fromHook && strings.HasPrefix(words, pageStart)
}

// pageStart begins each heading of a page.
const pageStart = "peermux: "

// mailText is a page of mail without the wrapping of the client and without the
// closing sentence, which is the same each time.
func mailText(words string) string {
	words, _, _ = strings.Cut(words, frame.Closing)
	if i := strings.Index(words, pageStart); i >= 0 {
		words = words[i:]
	}
	return strings.TrimSpace(words)
}

// leadingTag returns the name and the content of the tag that s begins with.
func leadingTag(s string) (name, inner string) {
	if !strings.HasPrefix(s, "<") {
		return "", ""
	}
	end := strings.IndexAny(s, "> \n")
	if end < 2 {
		return "", ""
	}
	name = s[1:end]
	_, inner, _ = strings.Cut(s, ">")
	inner, _, _ = strings.Cut(inner, "</"+name+">")
	return name, inner
}

// between returns the text between two marks, "" when they are not there.
func between(s, from, to string) string {
	_, s, ok := strings.Cut(s, from)
	if !ok {
		return ""
	}
	s, _, _ = strings.Cut(s, to)
	return s
}

// slashCommand is what the user typed: the command and its arguments.
func slashCommand(s string) string {
	name := between(s, "<command-name>", "</command-name>")
	return strings.TrimSpace(name + " " + between(s, "<command-args>", "</command-args>"))
}

// withoutReminders drops the client's reminders from a prompt.
func withoutReminders(s string) string {
	const from, to = "<system-reminder>", "</system-reminder>"
	for {
		head, rest, ok := strings.Cut(s, from)
		if !ok {
			return s
		}
		_, tail, _ := strings.Cut(rest, to)
		s = head + tail
	}
}

// shorten cuts s in the middle to at most limit bytes, at rune boundaries, and
// says how many bytes are missing. Both ends stay: what was asked and how it
// came out.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const room = 40 // of the mark with a number of up to 12 digits
	if limit <= room {
		return s[:boundary(s, max(limit, 0))]
	}
	head := boundary(s, (limit-room)*2/3)
	tail := len(s) - (limit - room - head)
	for tail < len(s) && s[tail]&0xC0 == 0x80 {
		tail++
	}
	return s[:head] + " […" + sizeText(int64(tail-head)) + " left out…] " + s[tail:]
}

// sizeText is a number of bytes for a person.
func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// boundary moves i back to the start of a rune.
func boundary(s string, i int) int {
	for i > 0 && i < len(s) && s[i]&0xC0 == 0x80 {
		i--
	}
	return i
}
