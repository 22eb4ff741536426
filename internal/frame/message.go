package frame

import (
	"fmt"
	"path/filepath"
	"slices"
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

// block renders one message: header, what to do, subject, quoted body. The call
// that closes a task stands before its body, or models answer and leave it open.
func block(it mailbox.Item, o Options) string {
	var b strings.Builder
	b.WriteString(header(it, o) + "\n" + todo(it, o) + "\n")
	if s := Line(it.Subject, subjectLimit); s != "" {
		b.WriteString("Subject: " + s + "\n")
	}
	b.WriteString(quoted(it.Body, o))
	return b.String()
}

// header is the line that says what this is, from whom, when, and its id.
func header(it mailbox.Item, o Options) string {
	parts := []string{title(it, o) + " from " + Sender(it.From)}
	if about := reference(it); about != "" {
		parts = append(parts, about)
	}
	if s := age(it.SentAt, o.Now); s != "" {
		parts = append(parts, s)
	}
	if it.PossiblySeen {
		parts = append(parts, "possibly shown before")
	}
	return strings.Join(append(parts, "id "+id(it.ID)), ", ")
}

// reference names the message that this one belongs to.
func reference(it mailbox.Item) string {
	to := id(it.ReplyTo)
	switch {
	case to == "":
		return ""
	case it.Kind == mailbox.KindResult:
		return "for your task " + to
	case it.Kind == mailbox.KindWithdraw:
		return "of message " + to
	}
	return "to your message " + to
}

func title(it mailbox.Item, o Options) string {
	switch it.Kind {
	case mailbox.KindAsk:
		return "Question"
	case mailbox.KindReply:
		if o.Late[it.ReplyTo] {
			return "Late answer (your ask had ended)"
		}
		return "Answer"
	case mailbox.KindTask:
		return "Task"
	case mailbox.KindResult:
		if tag := Label(it.Tag, nameLimit); tag != "" {
			return "Result (" + tag + ")"
		}
		return "Result"
	case mailbox.KindWithdraw:
		return "Withdrawal"
	}
	if broadcast(it, o) {
		return "Broadcast (" + strings.Join(audience(it.Message), ", ") + ")"
	}
	if it.Urgency == mailbox.UrgencyHigh {
		return "Urgent message"
	}
	return "Message"
}

// audience is for whom a broadcast is and of which kind.
func audience(m mailbox.Message) []string {
	words := []string{Label(m.Scope, nameLimit), Label(m.Tag, nameLimit)}
	if m.Urgency == mailbox.UrgencyHigh {
		words = append(words, "urgent")
	}
	return slices.DeleteFunc(words, func(s string) bool { return s == "" })
}

// broadcast reports whether a message of a box was one that its reader was shown of a
// feed and never had.
func broadcast(it mailbox.Item, o Options) bool { return it.Scope != "" && o.Repository == "" }

// todo names the one call that answers or closes the message.
func todo(it mailbox.Item, o Options) string {
	call := func(tool string) string { return fmt.Sprintf(`%s(message_id: "%s", body: "…")`, tool, id(it.ID)) }
	switch it.Kind {
	case mailbox.KindAsk:
		return "To answer: " + call("reply_to_message")
	case mailbox.KindTask:
		return "It stays open until you call " + call("complete_work") + " when it is done, or " +
			call("block_work") + " when it can't be. A plain reply leaves it open."
	case mailbox.KindReply, mailbox.KindResult:
		return "No acknowledgement is needed."
	case mailbox.KindWithdraw:
		return "Nothing is left to do about that message."
	}
	switch {
	case broadcast(it, o):
		return "For information. No answer is expected; one goes to the sender only."
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
	for _, field := range []struct{ name, value string }{
		{"project", projectName(p)}, {"branch", Label(p.Branch, nameLimit)}, {"session", short(p.SessionID)},
	} {
		if field.value != "" {
			about = append(about, field.name+" "+field.value)
		}
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
	where := []string{clock(m.SentAt, o.Now)}
	if m.Scope != "" && m.Scope != "project" {
		where = append(where, Label(m.Scope, nameLimit), projectName(m.From))
	}
	sender := short(m.From.SessionID)
	if sender == "" {
		sender = Label(m.From.Name, nameLimit)
	}
	where = append(where, Label(m.From.Branch, nameLimit), sender)
	where = slices.DeleteFunc(where, func(s string) bool { return s == "" })
	kind := Label(m.Tag, nameLimit)
	if kind == "" {
		kind = "note"
	}
	if m.Urgency == mailbox.UrgencyHigh {
		kind += ", urgent"
	}
	return fmt.Sprintf("%s%s [%s] %s (id %s)", Quote, strings.Join(where, " "), kind,
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

func projectName(p mailbox.Party) string {
	if p.Project == "" {
		return ""
	}
	return Label(filepath.Base(p.Project), nameLimit)
}

func short(session string) string {
	s := []rune(id(session))
	return string(s[:min(len(s), shortID)])
}
