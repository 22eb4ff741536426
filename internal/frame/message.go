package frame

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"peermux/mailbox"
)

const (
	nameLimit    = 64
	subjectLimit = 200
	feedLimit    = 600
	shortID      = 8 // characters of a session id that tell it from others
)

// block renders one message: header, subject, quoted body, what to do.
func block(it mailbox.Item, o Options) string {
	var b strings.Builder
	b.WriteString(header(it, o))
	b.WriteByte('\n')
	if s := Line(it.Subject, subjectLimit); s != "" {
		b.WriteString("Subject: " + s + "\n")
	}
	b.WriteString(quoted(it.Body, o))
	b.WriteString(todo(it, o))
	b.WriteByte('\n')
	return b.String()
}

// header is the line that says what this is, from whom, when, and its id.
func header(it mailbox.Item, o Options) string {
	parts := []string{title(it, o) + " from " + Sender(it.From)}
	if it.ReplyTo != "" {
		switch it.Kind {
		case "reply":
			parts = append(parts, "to your message "+id(it.ReplyTo))
		case "result":
			parts = append(parts, "for your task "+id(it.ReplyTo))
		case "withdraw":
			parts = append(parts, "of message "+id(it.ReplyTo))
		}
	}
	if s := age(it.SentAt, o.Now); s != "" {
		parts = append(parts, s)
	}
	if it.PossiblySeen {
		parts = append(parts, "possibly shown before")
	}
	return strings.Join(append(parts, "id "+id(it.ID)), ", ")
}

func title(it mailbox.Item, o Options) string {
	switch it.Kind {
	case "ask":
		return "Question"
	case "reply":
		if o.Late[it.ReplyTo] {
			return "Late answer (your ask had ended)"
		}
		return "Answer"
	case "task":
		return "Task"
	case "result":
		if tag := Label(it.Tag, nameLimit); tag != "" {
			return "Result (" + tag + ")"
		}
		return "Result"
	case "withdraw":
		return "Withdrawal"
	}
	if it.Urgency == "high" {
		return "Urgent message"
	}
	return "Message"
}

// todo names the one call that answers or closes the message.
func todo(it mailbox.Item, o Options) string {
	call := func(tool string) string { return fmt.Sprintf(`%s(message_id: "%s", body: "…")`, tool, id(it.ID)) }
	switch it.Kind {
	case "ask":
		return "To answer: " + call("reply_to_message")
	case "task":
		return "It stays open until you call " + call("complete_work") + " when it is done, or " +
			call("block_work") + " when it can't be. A plain reply leaves it open."
	case "reply", "result":
		return "No acknowledgement is needed."
	case "withdraw":
		return "Nothing is left to do about that message."
	}
	switch {
	case o.Repository != "":
		return "To end it: " + call("reply_to_message") + " answers and closes it, " + call("complete_work") + " only closes it."
	case it.Urgency == "low":
		return "No answer is needed."
	}
	return "If it calls for an answer: " + call("reply_to_message")
}

// Sender names the author of a message on one line: a session, a person at
// a terminal, an app or a repository.
func Sender(p mailbox.Party) string {
	name := Label(p.Name, nameLimit)
	if name == "" {
		name = "unnamed"
	}
	switch {
	case strings.HasPrefix(p.Box, "u-"):
		return name + " (a person at a terminal of this machine)"
	case strings.HasPrefix(p.Box, "a-"):
		return name + " (an app)"
	case strings.HasPrefix(p.Box, "r-") && p.SessionID == "":
		return name + " (a repository)"
	}
	about := []string{clientName(p.Client)}
	if p.Project != "" {
		about = append(about, "project "+Label(filepath.Base(p.Project), nameLimit))
	}
	if p.Branch != "" {
		about = append(about, "branch "+Label(p.Branch, nameLimit))
	}
	if p.SessionID != "" {
		about = append(about, "session "+short(p.SessionID))
	}
	return name + " (" + strings.Join(about, ", ") + ")"
}

func clientName(kind string) string {
	switch kind {
	case "claude":
		return "Claude Code"
	case "codex":
		return "Codex"
	case "":
		return "unknown client"
	}
	return Label(kind, nameLimit)
}

// quoted is the body with each line prefixed, cut at o.Body with the way to
// read the rest.
func quoted(body string, o Options) string {
	text := strings.TrimRight(Clean(body), "\n\t ")
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(Quote+line, " ") + "\n")
	}
	full := b.String()
	if o.size(full) <= o.Body {
		return full
	}
	cut := strings.TrimRight(o.prefix(full, o.Body), "|\n\t ") // no half prefix at the end
	return fmt.Sprintf("%s\n(cut here: about %d of %d characters are shown, read_my_messages(include_seen: true) gives the whole text)\n",
		cut, o.Body, utf8.RuneCountInString(text))
}

// FeedLine renders a broadcast as one line: when, from which branch and
// session, its kind, and for a feed wider than the project its scope and the
// sender's project.
func FeedLine(m mailbox.Message, o Options) string {
	var where []string
	if m.Scope != "" && m.Scope != "project" {
		where = append(where, Label(m.Scope, nameLimit))
		if m.From.Project != "" {
			where = append(where, Label(filepath.Base(m.From.Project), nameLimit))
		}
	}
	if m.From.Branch != "" {
		where = append(where, Label(m.From.Branch, nameLimit))
	}
	if m.From.SessionID != "" {
		where = append(where, short(m.From.SessionID))
	} else if name := Label(m.From.Name, nameLimit); name != "" {
		where = append(where, name)
	}
	kind := Label(m.Tag, nameLimit)
	if kind == "" {
		kind = "note"
	}
	return fmt.Sprintf("%s%s %s [%s] %s (id %s)", Quote, clock(m.SentAt, o.Now), strings.Join(where, " "), kind,
		Line(m.Body, feedLimit), id(m.ID))
}

// clock is a time of day, with the date when it is another day's.
func clock(at, now time.Time) string {
	at = at.In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// age is how long ago a message was sent, "" when that can't be told.
func age(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero() || d < -time.Minute:
		return ""
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}

func id(s string) string { return Label(s, nameLimit) }

func short(session string) string {
	s := []rune(id(session))
	return string(s[:min(len(s), shortID)])
}
