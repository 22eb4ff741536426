package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"peermux/mailbox"
)

// Kinds of letters.
const (
	Tell     = "tell"
	Ask      = "ask"
	Withdraw = "withdraw"
)

// Limits of a message file in bytes.
const (
	maxFront = 16 << 10
	maxValue = 1000
	maxFile  = mailbox.MaxBody + maxFront
)

// fence begins and ends the front matter.
const fence = "---"

// Letter is a message file: front matter and a body.
type Letter struct {
	Kind    string // tell, ask or withdraw; empty is tell
	Urgency string // low, normal or high; empty is normal
	Subject string
	ReplyTo string
	From    string
	To      string
	Date    time.Time
	Tag     string // written by peermux alone: waiting, task
	Body    string
}

// Parse reads a message file. Its errors are for the author of the file: they say
// what is wrong, and in which line.
func Parse(data []byte) (Letter, error) {
	var l Letter
	if !utf8.Valid(data) {
		return l, fmt.Errorf("the file is not text in UTF-8")
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\uFEFF"))), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != fence {
		return l, fmt.Errorf("line 1: the file must begin with a line %q, then lines like \"kind: tell\", then %q again and the text", fence, fence)
	}
	seen := map[string]bool{}
	for n := 2; ; n++ {
		line, after, more := strings.Cut(rest, "\n")
		if strings.TrimRight(line, " \t") == fence {
			l.Body = after
			break
		}
		if !more || len(text)-len(after) > maxFront {
			return l, fmt.Errorf("line %d: the front matter has no end; close it with a line %q", n, fence)
		}
		if err := l.line(line, seen); err != nil {
			return l, fmt.Errorf("line %d: %w", n, err)
		}
		rest = after
	}
	l.Body = strings.TrimRight(strings.TrimPrefix(l.Body, "\n"), "\n")
	return l, l.check()
}

// line takes in one line of the front matter.
func (l *Letter) line(line string, seen map[string]bool) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	key, raw, ok := strings.Cut(line, ":")
	if !ok || key != strings.TrimSpace(key) {
		return fmt.Errorf("%q is not of the form \"key: value\"", short(line))
	}
	value, err := unquote(strings.TrimSpace(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", short(key), err)
	}
	if seen[key] {
		return fmt.Errorf("%s stands there twice", short(key))
	}
	seen[key] = true
	switch key {
	case "kind":
		l.Kind = value
	case "urgency":
		l.Urgency = value
	case "subject":
		l.Subject = value
	case "reply_to":
		l.ReplyTo = value
	case "from":
		l.From = value
	case "to":
		l.To = value
	case "tag":
		l.Tag = value
	case "date":
		if value == "" {
			return nil
		}
		if l.Date, err = time.Parse(time.RFC3339Nano, value); err != nil {
			return fmt.Errorf("date %q: must look like 2006-01-02T15:04:05Z", short(value))
		}
	default:
		return fmt.Errorf("%q is no key of a message; those are kind, urgency, subject, reply_to, from, to and date", short(key))
	}
	return nil
}

// check looks at the values, and fills in what may be left out.
func (l *Letter) check() error {
	if l.Kind == "" {
		l.Kind = Tell
	}
	if l.Urgency == "" {
		l.Urgency = "normal"
	}
	switch {
	case !slices.Contains([]string{Tell, Ask, Withdraw}, l.Kind):
		return fmt.Errorf("kind %q: must be tell, ask or withdraw", short(l.Kind))
	case !slices.Contains([]string{"low", "normal", "high"}, l.Urgency):
		return fmt.Errorf("urgency %q: must be low, normal or high", short(l.Urgency))
	case l.ReplyTo != "" && !mailbox.ValidID(l.ReplyTo):
		return fmt.Errorf("reply_to %q: must be the ULID of a message, 26 characters", short(l.ReplyTo))
	case l.Kind == Withdraw && l.ReplyTo == "":
		return fmt.Errorf("a withdraw must name the message that it takes back in reply_to")
	case len(l.Body) > mailbox.MaxBody:
		return fmt.Errorf("the text has %d bytes, and %d is the limit; write it to a file and tell its path", len(l.Body), mailbox.MaxBody)
	case l.Kind != Withdraw && strings.TrimSpace(l.Body) == "":
		return fmt.Errorf("there is no text below the front matter")
	}
	return nil
}

// unquote reads a value: as it stands, or in the quotes that YAML has.
func unquote(s string) (string, error) {
	switch {
	case len(s) > maxValue:
		return "", fmt.Errorf("the value is longer than %d bytes", maxValue)
	case strings.HasPrefix(s, `"`):
		var value string
		if err := json.Unmarshal([]byte(s), &value); err != nil {
			return "", fmt.Errorf("%s is no string in double quotes", short(s))
		}
		s = value
	case strings.HasPrefix(s, "'"):
		inner, ok := strings.CutSuffix(s[1:], "'")
		if !ok || strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") {
			return "", fmt.Errorf("%s is no string in single quotes", short(s))
		}
		s = strings.ReplaceAll(inner, "''", "'")
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("the value holds a control character")
	}
	return s, nil
}

// Format is the letter as a file. Parse reads it back, and so does a reader of
// YAML.
func (l Letter) Format() []byte {
	var b bytes.Buffer
	b.WriteString(fence + "\n")
	field := func(key, value string) {
		if value != "" {
			b.WriteString(key + ": " + quote(value) + "\n")
		}
	}
	field("kind", l.Kind)
	field("urgency", l.Urgency)
	field("tag", l.Tag)
	field("subject", l.Subject)
	field("reply_to", l.ReplyTo)
	field("from", l.From)
	field("to", l.To)
	if !l.Date.IsZero() {
		field("date", l.Date.UTC().Format(time.RFC3339))
	}
	b.WriteString(fence + "\n" + l.Body + "\n")
	return b.Bytes()
}

// quote leaves words as they are and puts everything that YAML, or a careless
// reader, could take for something else into double quotes.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" -_./:+", r)
	}
	first := s[0]
	letter := first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z' || first >= '0' && first <= '9'
	if letter && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 &&
		!strings.Contains(s, ": ") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ") {
		return s
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A string can always be encoded.
	_ = enc.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// short keeps a value that is wrong from filling the receipt.
func short(s string) string {
	r := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return string(r)
}

// letterOf is a message for an app as a file.
func letterOf(m mailbox.Message, app string) Letter {
	l := Letter{
		Kind: Tell, Urgency: "normal", Subject: m.Subject, ReplyTo: m.ReplyTo, From: m.From.Name, To: app,
		Date: m.SentAt, Body: strings.TrimRight(m.Body, "\n"),
	}
	if m.Urgency != "" {
		l.Urgency = m.Urgency
	}
	switch m.Kind {
	case mailbox.KindAsk:
		l.Kind = Ask
	case mailbox.KindTask:
		l.Kind, l.Tag = Ask, "task"
	case mailbox.KindWithdraw:
		l.Kind = Withdraw
	case mailbox.KindNote:
		if m.Tag == waitingTag {
			l.Tag = waitingTag
		}
	}
	return l
}
