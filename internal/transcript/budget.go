package transcript

import (
	"encoding/json"
	"fmt"
	"strings"

	"peermux/internal/frame"
)

// prepare cuts the text of an event to what a read of this size can show of it,
// masks secrets and removes what must not reach a terminal. Secrets are masked
// before the cut, so that no half of one is left; a text so long that masking
// it whole would take time is first cut between words.
func (o Options) prepare(e event) event {
	limit := o.MaxBytes / 2
	switch e.kind {
	case kindResult:
		limit = min(max(o.MaxBytes/20, 400), 16<<10)
	case kindCall:
		limit = min(max(o.MaxBytes/40, 200), 8<<10)
	case kindPrompt:
		if e.role == RoleSystem {
			limit = max(o.MaxBytes/8, 400)
		}
	}
	s := cutBetweenWords(e.text, 2*limit+4<<10)
	if !o.Unmasked {
		s, e.masked = Mask(s)
	}
	e.text = strings.TrimSpace(shorten(frame.Clean(s), limit))
	e.name = frame.Line(e.name, 120)
	return e
}

// cutBetweenWords is shorten at white space: what stands beside the cut is whole.
func cutBetweenWords(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := s[:limit*2/3], s[len(s)-limit/3:]
	if i := strings.LastIndexAny(head, " \n\t"); i > len(head)/2 {
		head = head[:i]
	}
	if i := strings.IndexAny(tail, " \n\t"); i >= 0 && i < len(tail)/2 {
		tail = tail[i:]
	}
	return head + " […" + sizeText(int64(len(s)-len(head)-len(tail))) + " left out…] " + tail
}

// fitAll keeps the newest turns that fit into maxBytes as JSON, shortens the
// first that does not, and says how many are left out.
func fitAll(t *Tail, maxBytes int) {
	room := maxBytes
	for i := len(t.Turns) - 1; i >= 0; i-- {
		turn := &t.Turns[i]
		n := cost(turn)
		if n > room {
			newest := i == len(t.Turns)-1
			if newest || room > 1<<10 {
				n = fit(turn, room)
			}
			if n > room {
				t.cutBefore(i + 1)
				break
			}
			room = 0
		} else {
			room -= n
		}
		t.Masked += turn.masked
	}
}

// cutBefore leaves out the turns before index i.
func (t *Tail) cutBefore(i int) {
	if i > 0 {
		t.Omitted = append(t.Omitted, fmt.Sprintf("%s to keep the size", count(i, "older turn")))
		t.Truncated = true
	}
	t.Turns = t.Turns[i:]
}

// cost is the size of a turn in an answer.
func cost(t *Turn) int {
	data, err := json.Marshal(t)
	if err != nil { // a time outside the years 0 to 9999
		return 1 << 30
	}
	return len(data) + 1
}

// fit shortens a turn to the room there is, first its tools, then its text, and
// returns what it costs then.
func fit(t *Turn, room int) int {
	for i := range t.Tools {
		t.Tools[i].Input = shorten(t.Tools[i].Input, 200)
		t.Tools[i].Output = shorten(t.Tools[i].Output, 200)
	}
	left := 0
	for len(t.Tools) > 1 && cost(t)-jsonSize(t.Text) > room*2/3 {
		drop := (len(t.Tools) + 3) / 4
		left += drop
		t.Tools = t.Tools[drop:]
	}
	if left > 0 {
		t.Text = joined(t.Text, fmt.Sprintf("[%s left out]", count(left, "earlier tool call")))
	}
	n := cost(t)
	for n > room && t.Text != "" {
		// JSON may need more bytes than the text; so go down by the excess.
		t.Text = shorten(t.Text, max(0, min(len(t.Text)-(n-room), len(t.Text)*room/n)))
		n = cost(t)
	}
	return n
}

func jsonSize(s string) int {
	data, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return len(s)
	}
	return len(data)
}

// count is "1 turn", "2 turns".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// notes says what was left out, and why.
func (s *skipped) notes(g *gatherer) []string {
	var out []string
	add := func(n int, what, why string) {
		if n > 0 {
			out = append(out, count(n, what)+why)
		}
	}
	add(s.torn, "half-written line", " at the end: the client is writing, or was killed")
	add(s.broken, "line", " that could not be read as JSON")
	add(s.long, "record", " too large to read")
	add(s.foreign, "record", " of another session in the same file")
	add(s.subagent, "record", " of subagents")
	add(s.rewound, "prompt", " that the user took back, with what followed")
	if s.takenBack > 0 {
		out = append(out, sizeText(s.takenBack)+" that the user took back")
	}
	add(s.reasoning, "block", " of the model's reasoning")
	if g.capped {
		out = append(out, fmt.Sprintf("what stands more than %s before the end: not searched", sizeText(g.scanned)))
	}
	return out
}
