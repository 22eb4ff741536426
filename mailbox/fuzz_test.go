package mailbox

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"
)

// FuzzJournal reads whatever another program, or a broken disk, may have left:
// nothing panics, the quick scan and the full reading agree on what waits, and
// compaction changes nothing about it.
func FuzzJournal(f *testing.F) {
	sample, err := os.ReadFile("testdata/journal.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample, false)
	f.Add(sample, true)
	f.Add(sample[:len(sample)/2], false)
	for _, seed := range []string{
		`{"t":"msg","id":"a","body":"x","sent_at":"2026-01-01T00:00:00Z"}{"t":"msg","id":"b","body":"y","sent_at":"2026-01-01T00:00:00Z"}`,
		"{\"t\":\"moved\",\"id\":\"x\",\"box\":\"\"}\n{\"t\":\"shown\",\"id\":\"\"}\n[]\nnull\n",
		`{"t":"compacted","id":"","hot":"00","kept":"-1"}`,
		`{"t":"msg","id":"a","id":"b","T":"shown"}`,
		"{\"t\":\"msg\",\"id\":\"a\",\"body\":\"x\"}\n{\"t\":\"shown\",\"id\":\"a\"}\n{\"t\":\"answered\",\"id\":\"a\"}\n{\"t\":\"unshown\",\"id\":\"a\"}\n{\"t\":\"moved\",\"id\":\"x\",\"box\":\"s-other\"}\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	s := &Store{now: time.Now, Alive: func(int, string) bool { return false }}
	f.Fuzz(func(t *testing.T, data []byte, repo bool) {
		p := place{key: "s-fuzz", repo: repo}
		before, v := waiting(t, s, p, data)
		tx := &tx{s: s, p: p, idx: newIndex(p, v.last, v.hotData())}
		parts := tx.divide(v)
		after, _ := waiting(t, s, p, parts.file(time.Now(), lastID(tx.idx, v.data), false))
		if !slices.Equal(before, after) {
			t.Fatalf("compaction made %q of %q", after, before)
		}
		// A new line is found whatever comes before it.
		line := []byte(`{"t":"msg","id":"new","v":1,"kind":"note","body":"new","sent_at":"2026-01-01T00:00:00Z"}` + "\n")
		if !bytes.Contains(data, []byte(`new`)) {
			more, _ := waiting(t, s, p, slices.Concat(data, []byte{'\n'}, line))
			if !slices.Contains(more, "new") {
				t.Fatal("a new message is hidden")
			}
		}
		newest(data)
		oldest(data)
	})
}

func waiting(t *testing.T, s *Store, p place, data []byte) ([]string, *snapshot) {
	t.Helper()
	v := &snapshot{data: data, size: int64(len(data))}
	if h, ok := parseHeader(data); ok {
		v.accept(h)
	}
	x := newIndex(p, v.last, v.hotData())
	var scanned, read []string
	x.each(func(e *entry) {
		if it, ok := s.item(p, x, e, ""); ok && !e.shown {
			scanned = append(scanned, it.ID)
		}
	})
	for _, it := range s.replay(p, v).Items {
		if it.waits(p.repo) {
			read = append(read, it.ID)
		}
	}
	if x.pending() != len(scanned) {
		t.Fatalf("pending counts %d of %d", x.pending(), len(scanned))
	}
	slices.Sort(scanned)
	slices.Sort(read)
	if !slices.Equal(scanned, read) {
		t.Fatalf("the scan finds %q, the full reading %q", scanned, read)
	}
	return read, v
}
