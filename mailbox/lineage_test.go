package mailbox_test

import (
	"slices"
	"testing"
	"time"

	"peermux/mailbox"
)

func TestLineage(t *testing.T) {
	s, err := mailbox.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{mailbox.SessionKey("one"), mailbox.SessionKey("two"), mailbox.SessionKey("three")}
	for i := range 2 {
		m := mailbox.Message{Body: "x"}
		if _, err := s.Append(keys[i], &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Move(keys[i], keys[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	// Compaction keeps what a lineage is read from.
	if err := s.Compact(keys[2]); err != nil {
		t.Fatal(err)
	}
	got, err := s.Lineage(keys[2])
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{keys[2], keys[1], keys[0]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A box that comes back to life continues the one it had become.
	if err := s.Move(keys[2], keys[0]); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Lineage(keys[0]); err != nil || len(got) != 3 || got[0] != keys[0] {
		t.Errorf("after moving back: %v, %v", got, err)
	}
	if got, err := s.Lineage(mailbox.SessionKey("nobody")); err != nil || len(got) != 1 {
		t.Errorf("a box that is not there: %v, %v", got, err)
	}
}
