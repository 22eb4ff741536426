package hookrun

import (
	"errors"
	"slices"

	"peermux/internal/frame"
	"peermux/mailbox"
)

// delivery is what one run puts in front of the model: a page, and the claims
// that stand behind it.
type delivery struct {
	page   *frame.Page
	claims []*mailbox.Claim
	ids    []string
}

func (h *hook) newDelivery() *delivery {
	return &delivery{page: frame.NewPage(frame.Options{Client: h.Client, Now: h.Now()})}
}

func (d *delivery) shows(ids []string) { d.ids = append(d.ids, ids...) }

// send writes the page and settles the claims: shown when the text is out as a
// whole, given back when it is not.
func (h *hook) send(d *delivery, write func(text string) error) (sent bool, err error) {
	text := d.page.String()
	err = write(text)
	sent = err == nil
	for _, c := range d.claims {
		if sent {
			// When this fails, the mail comes once more, marked.
			err = errors.Join(err, c.Shown())
		} else {
			err = errors.Join(err, c.Release())
		}
	}
	if sent {
		h.shown, h.bytes = d.ids, len(text)
	}
	return sent, err
}

// show sends what there is to the model's context.
func (h *hook) show(d *delivery) (sent bool, err error) {
	if d.page.Empty() {
		return false, nil
	}
	return h.send(d, func(text string) error { return h.emit(text, nil) })
}

// addMail claims the session's own mail for the page. A start leaves out what was
// shown and got lost before: it would be again when there is no prompt.
func (h *hook) addMail(d *delivery) error {
	claim, err := h.mail.Claim(h.key, mailbox.ClaimOptions{
		Reader: h.in.SessionID, Via: h.Event, Fits: known(d.page.Fits("")), Fresh: h.Event == "SessionStart",
	})
	if err != nil {
		return err
	}
	d.claims = append(d.claims, claim)
	items := claim.Messages
	d.shows(d.page.Mail(items, frame.Section{More: h.more(claim.More, items), Late: h.lateQuestions(items)}))
	return nil
}

// known lets only messages through whose format this program knows: it may be
// older than the server that stored them. What stays behind is counted, and read
// by the server's tool.
func known(fits func(mailbox.Message) bool) func(mailbox.Message) bool {
	return func(m mailbox.Message) bool { return m.V <= frame.Version && fits(m) }
}

// more is how many messages the page says were left behind. With nothing beside
// it that would be said at every tool call, and at Stop it would keep the turn
// going for nothing.
func (h *hook) more(left int, shown []mailbox.Item) int {
	switch h.Event {
	case "PreToolUse", "PostToolUse", "Stop":
		if len(shown) == 0 {
			return 0
		}
	}
	return left
}

// lateQuestions are the own questions, among those that items answer, whose ask
// was over before the answer came.
func (h *hook) lateQuestions(items []mailbox.Item) map[string]bool {
	if !slices.ContainsFunc(items, func(it mailbox.Item) bool { return it.Kind == mailbox.KindReply }) {
		return nil
	}
	asks, err := h.mail.Asks(h.key)
	if err != nil {
		return nil // only the word "late" is lost
	}
	late := map[string]bool{}
	for _, it := range items {
		for _, ask := range asks {
			if ask.ID == it.ReplyTo {
				late[ask.ID] = ask.Ended != "answered" || !ask.Until.IsZero() && it.SentAt.After(ask.Until)
			}
		}
	}
	return late
}
