package frame

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"peermux/mailbox"
)

const (
	// DefaultBudget is what one injection may hold. Claude Code replaces
	// more than 10,000 characters by a preview of 2 KB, Codex cuts the middle
	// out of more than about 10,000 bytes.
	DefaultBudget = 9000
	// DefaultBody is how much of one body is shown.
	DefaultBody = 4000

	reserve     = 800 // for the closing and the lines that count
	headingRoom = 500 // for the first line of a section
	lateRoom    = 40  // for a header that says "Late answer (…)"
)

// Options says for whom a page is made. A limit that is zero is the default.
type Options struct {
	Client string // codex measures in bytes, every other client in UTF-16 units
	Budget int    // size of the whole page
	Body   int    // size of one quoted body
	Now    time.Time
	Section
}

// Section is what is known about a group of messages beside themselves.
type Section struct {
	Repository string          // name of the repository whose mail this is; "" for a session's
	More       int             // messages that wait and were left behind
	Late       map[string]bool // own questions whose ask was over when the answer came
}

func (o Options) withDefaults() Options {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	if o.Body <= 0 {
		o.Body = min(DefaultBody, o.Budget/3)
	}
	return o
}

// size measures as the client does that cuts.
func (o Options) size(s string) int {
	if o.Client == "codex" {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += o.width(r)
	}
	return n
}

func (o Options) width(r rune) int {
	switch {
	case o.Client == "codex":
		return utf8.RuneLen(r)
	case r > 0xffff:
		return 2
	}
	return 1
}

// prefix is the longest start of s of at most n units that ends between runes.
func (o Options) prefix(s string, n int) string {
	for i, r := range s {
		if n -= o.width(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// A Page is one injection: sections of mail within one budget, then lines of
// peermux's own, then the closing. Messages are shown whole or counted, never
// dropped. It is not for concurrent use.
type Page struct {
	o      Options
	left   int
	text   []string // sections
	notes  []string // lines of our own
	quotes bool     // something of a peer's is quoted, so the closing is due
}

// NewPage returns an empty page.
func NewPage(o Options) *Page {
	o = o.withDefaults()
	return &Page{o: o, left: o.Budget - reserve}
}

// Fits returns a stateful test for the messages of the section that is added
// next, in their order: false from the first on that has no room.
func (p *Page) Fits(repository string) func(mailbox.Message) bool {
	o, left, full := p.o, p.left-headingRoom, false
	o.Section = Section{Repository: repository}
	return func(m mailbox.Message) bool {
		// What a claim adds to a message makes its header longer.
		left -= o.size(block(mailbox.Item{Message: m, PossiblySeen: true}, o)) + lateRoom
		full = full || left < 0
		return !full
	}
}

// Fits is [Page.Fits] for a page that holds one section.
func Fits(o Options) func(mailbox.Message) bool { return NewPage(o).Fits(o.Repository) }

// Mail renders one section as a whole page and returns the ids of the messages
// that are on it.
func Mail(items []mailbox.Item, o Options) (text string, shown []string) {
	p := NewPage(o)
	shown = p.Mail(items, o.Section)
	return p.String(), shown
}

// Mail adds a section of messages and returns the ids of those that are on it.
func (p *Page) Mail(items []mailbox.Item, s Section) (shown []string) {
	o := p.o
	o.Section = s
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = "\n" + block(it, o)
	}
	n := p.section(heading(s.Repository), texts)
	p.quotes = p.quotes || n > 0
	if more := s.More + len(items) - n; more > 0 {
		p.notes = append(p.notes, moreLine(s.Repository, more))
	}
	return ids(items[:n])
}

func heading(repository string) func(n int) string {
	return func(n int) string {
		messages := count(n, "message", "messages")
		if repository == "" {
			return "peermux: " + messages + " for this session."
		}
		return "peermux: " + messages + " for the repository " + Label(repository, nameLimit) + ", in which you work. " +
			"Handle this before the work you came for, and bring each message to an end: answering is owed, complying is not."
	}
}

func moreLine(repository string, n int) string {
	if repository == "" {
		return fmt.Sprintf("peermux: %d more: call read_my_messages.", n)
	}
	return fmt.Sprintf("peermux: %d more for the repository: call read_my_messages.", n)
}

// Headings of lists.
const (
	Broadcasts    = "peermux: broadcasts, for information. No answer is expected; one goes to the sender only."
	Announcements = "peermux: standing announcements to repositories, for information."
	Locks         = "peermux: locks held now. They are advice: ask the holder before you touch what they name."
	Unanswered    = "peermux: these were shown before and are not answered; read_my_messages(include_seen: true) shows them again."
	Reminder      = "peermux: before you stop, this still waits for you. It is said once."
)

// FeedFits is Fits for broadcasts.
func (p *Page) FeedFits() func(mailbox.Message) bool {
	left, full := p.left-headingRoom, false
	return func(m mailbox.Message) bool {
		left -= p.o.size(FeedLine(m, p.o)) + 1
		full = full || left < 0
		return !full
	}
}

// Feed adds broadcasts, one line each, and returns the ids of those shown.
func (p *Page) Feed(heading string, items []mailbox.Item, more int) (shown []string) {
	lines := make([]string, len(items))
	for i, it := range items {
		lines[i] = FeedLine(it.Message, p.o) + "\n"
	}
	n := p.section(func(int) string { return heading }, lines)
	p.quotes = p.quotes || n > 0
	if more += len(items) - n; more > 0 {
		p.notes = append(p.notes, "peermux: "+count(more, "more broadcast", "more broadcasts")+": call read_my_messages.")
	}
	return ids(items[:n])
}

// Remind names messages by their headers, each with the call that ends it.
func (p *Page) Remind(items []mailbox.Item) {
	lines := make([]string, len(items))
	for i, it := range items {
		lines[i] = header(it, p.o) + "\n" + todo(it, p.o) + "\n"
	}
	p.list(Reminder, lines)
}

// Recall names messages by their headers alone.
func (p *Page) Recall(items []mailbox.Item) {
	lines := make([]string, len(items))
	for i, it := range items {
		lines[i] = header(it, p.o) + "\n"
	}
	p.list(Unanswered, lines)
}

func (p *Page) list(heading string, lines []string) {
	n := p.section(func(int) string { return heading }, lines)
	if n < len(lines) {
		p.notes = append(p.notes, fmt.Sprintf("peermux: %d more: call my_open_work.", len(lines)-n))
	}
}

// Elsewhere says how much mail waits in other boxes: two numbers, no names.
func (p *Page) Elsewhere(messages, boxes int) {
	line := fmt.Sprintf("peermux: %s in %s elsewhere on this machine; not yours to handle.",
		count(messages, "message", "messages"), count(boxes, "box", "boxes"))
	if size := p.o.size(line) + 1; size <= p.left {
		p.left -= size
		p.notes = append(p.notes, line)
	}
}

// section adds as many of the texts as there is room for, under a heading, and
// returns their number.
func (p *Page) section(heading func(n int) string, texts []string) int {
	left := p.left - headingRoom
	n := 0
	for n < len(texts) && left >= p.o.size(texts[n]) {
		left -= p.o.size(texts[n])
		n++
	}
	if n == 0 {
		return 0
	}
	text := heading(n) + "\n" + strings.Join(texts[:n], "")
	p.text = append(p.text, strings.TrimRight(text, "\n"))
	p.left = min(left, p.left-p.o.size(text)-1)
	return n
}

// Empty reports whether the page has nothing to say.
func (p *Page) Empty() bool { return len(p.text) == 0 && len(p.notes) == 0 }

// String is the page as the model gets it.
func (p *Page) String() string {
	parts := p.text
	if len(p.notes) > 0 {
		parts = append(parts[:len(parts):len(parts)], strings.Join(p.notes, "\n"))
	}
	if p.quotes {
		parts = append(parts[:len(parts):len(parts)], Closing)
	}
	return strings.Join(parts, "\n\n")
}

func ids(items []mailbox.Item) []string {
	list := make([]string, len(items))
	for i, it := range items {
		list[i] = it.ID
	}
	return list
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
