package mailbox

// Recall records that a message was taken back after it had been put in front of
// its reader, who is known not to have it: a file that an app did not collect.
// Withdraw is for messages that still wait.
func (s *Store) Recall(key, id string) error {
	return s.onMessage(key, id, func(t *tx, it Item) error {
		if it.Closed != "" {
			return nil
		}
		return t.writeSync(lines(note{T: recRetracted, ID: id, At: s.stamp()}))
	})
}
