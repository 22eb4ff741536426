package mailbox

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Party is one end of a message.
type Party struct {
	SessionID string `json:"session_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Client    string `json:"client,omitempty"`
	Project   string `json:"project,omitempty"`
	Host      string `json:"host,omitempty"`
	Box       string `json:"box,omitempty"`
	Branch    string `json:"branch,omitempty"`
}

// Kind says what a message is for.
type Kind string

const (
	KindNote     Kind = "note"
	KindAsk      Kind = "ask"
	KindReply    Kind = "reply"
	KindTask     Kind = "task"
	KindResult   Kind = "result"
	KindWithdraw Kind = "withdraw"
)

// Message is what one party tells another, whole. ID comes first because a
// journal line has it right after its type.
type Message struct {
	ID      string    `json:"id"`
	V       int       `json:"v"`
	Kind    Kind      `json:"kind"`
	From    Party     `json:"from"`
	To      Party     `json:"to"`
	Subject string    `json:"subject,omitempty"`
	Body    string    `json:"body"`
	SentAt  time.Time `json:"sent_at"`
	ReplyTo string    `json:"reply_to,omitempty"`
	Thread  string    `json:"thread,omitempty"`
	Urgency string    `json:"urgency,omitempty"`
	Scope   string    `json:"scope,omitempty"`
	// Hops counts the answers to answers that led to this message.
	Hops int `json:"hops,omitempty"`
	// Tag is the free word of a broadcast: note, lock, release …; for a result it
	// is how the task was closed.
	Tag string `json:"tag,omitempty"`
}

const (
	// MaxBody is the greatest length of a body in bytes of UTF-8.
	MaxBody = 64 << 10
	// MaxUnshown and MaxUnshownBytes bound the mail that waits in one box.
	MaxUnshown      = 1000
	MaxUnshownBytes = 16 << 20

	messageVersion = 1
	maxHead        = 1000 // characters of a subject, a name, a tag
)

var (
	ErrBodyTooLarge   = errors.New("the body is too large")
	ErrEmptyBody      = errors.New("the body is empty")
	ErrNotText        = errors.New("the body is not text in UTF-8")
	ErrUnknownMessage = errors.New("no such message here")
	ErrAlreadyClosed  = errors.New("already closed")
	ErrInboxFull      = errors.New("the inbox is full")
)

// prepare checks m and brings it into the form that is stored: one-line heads,
// a version, a time in UTC.
func prepare(m *Message, now time.Time) error {
	switch {
	case len(m.Body) > MaxBody:
		return fmt.Errorf("%w: %d bytes, and %d is the limit; write it to a file and send the file's path",
			ErrBodyTooLarge, len(m.Body), MaxBody)
	case !utf8.ValidString(m.Body):
		return fmt.Errorf("%w; write it to a file and send the file's path", ErrNotText)
	case strings.TrimSpace(m.Body) == "":
		return ErrEmptyBody
	case m.ID != "" && !ValidID(m.ID):
		return fmt.Errorf("message id %q: an id has %d characters, see NewID", m.ID, IDLen)
	}
	switch m.Kind {
	case "":
		m.Kind = KindNote
	case KindNote, KindAsk, KindReply, KindTask, KindResult, KindWithdraw:
	default:
		return fmt.Errorf("message kind %q: must be note, ask, reply, task, result or withdraw", m.Kind)
	}
	m.V = messageVersion
	if m.SentAt.IsZero() {
		m.SentAt = now
	}
	m.SentAt = m.SentAt.UTC()
	for _, field := range []*string{&m.Subject, &m.Tag, &m.Scope, &m.Urgency, &m.Thread,
		&m.From.Name, &m.From.Branch, &m.To.Name, &m.To.Branch} {
		*field = oneLine(*field)
	}
	return nil
}

// oneLine collapses white space and control characters, so that a subject or a
// name can neither break a line nor forge the start of another.
func oneLine(s string) string {
	space := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}
	if strings.IndexFunc(s, func(r rune) bool { return r != ' ' && space(r) }) >= 0 || !utf8.ValidString(s) {
		s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), space), " ")
	}
	for i := range s {
		if i >= maxHead {
			return s[:i]
		}
	}
	return s
}
