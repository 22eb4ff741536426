package mailbox

import "errors"

// Taking is one answer that the asker takes out of its box.
type Taking struct {
	// Ask is the own question that ends with it, as answered.
	Ask string
	// ClaimOptions say which message it is, and who shows it.
	ClaimOptions
	// Claim is set by TakeAnswers when the message was there for the taking.
	Claim *Claim
}

// TakeAnswers claims answers and ends the questions that they answer, all under
// one lock and with one reading of the box. A question whose answer is not there,
// or is somebody else's, stays as it is. Error or not, what has a Claim is taken.
func (s *Store) TakeAnswers(key string, takings []*Taking) error {
	p, err := s.box(key)
	if err != nil {
		return err
	}
	for _, taking := range takings {
		if err := s.whoAmI(&taking.PID, &taking.Start); err != nil {
			return err
		}
	}
	t, err := s.beginSettled(p, false)
	if err != nil {
		return absent(err)
	}
	t.hurry = true
	var errs []error
	for _, taking := range takings {
		errs = append(errs, t.take(taking))
	}
	return errors.Join(append(errs, t.end(false))...)
}

// take writes the claim of an answer and the end of its question with one call.
func (t *tx) take(taking *Taking) error {
	c := t.s.available(t.p, t.idx, taking.ClaimOptions)
	if len(c.Messages) == 0 {
		return nil
	}
	token, at := NewID(t.s.now()), t.s.stamp()
	notes := make([]note, 0, len(c.Messages)+1)
	for _, it := range c.Messages {
		notes = append(notes, note{T: recClaim, ID: it.ID, Claim: token, By: taking.Reader, PID: taking.PID, Start: taking.Start, At: at})
	}
	notes = append(notes, note{T: recAnswered, ID: taking.Ask, Answer: c.Messages[0].ID, At: at})
	if err := t.write(lines(notes...)); err != nil {
		return err
	}
	s, key := t.s, t.p.key
	c.commit = func(kind string, items []Item) error {
		return s.commit(key, note{T: kind, Claim: token, By: taking.Reader, Via: taking.Via}, items)
	}
	taking.Claim = c
	return nil
}
