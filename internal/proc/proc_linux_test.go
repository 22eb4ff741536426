package proc

import (
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// startToken is a start time in the form of this system.
func startToken(n int) string { return strconv.Itoa(n) }

func TestParseStat(t *testing.T) {
	const tail = " S 10 20 30 34817 40 4194304 1 2 3 4 5 6 7 8 20 0 9 0 123456 1 2 3\n"
	for name, comm := range map[string]string{
		"7 (claude)" + tail:           "claude",
		"7 (tmux: server)" + tail:     "tmux: server",
		"7 (a) S 1 2 (b) R 9)" + tail: "a) S 1 2 (b) R 9",
		"7 ()" + tail:                 "",
		"7 (2.1.34)" + tail:           "2.1.34",
		"7 (x\ny)" + tail:             "x\ny",
	} {
		got, err := parseStat([]byte(name))
		want := Info{ID: ID{7, "123456"}, PPID: 10, PGrp: 20, Session: 30, TTY: got.TTY, TPGID: 40, State: 'S', Comm: comm}
		if err != nil || got != want || got.TTY == 0 {
			t.Errorf("%q: got %+v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "7", "7 (x", "7 x) S", "x (y)" + tail, "7 (y) S 1 2", "7 (y) SS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
		"7 (y) S a 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", "7 (y) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 -19 20"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: got %+v", bad, got)
		}
	}
}

// The kernel splits minor numbers above 255: /dev/pts/272 is 136:272.
func TestTTYNumber(t *testing.T) {
	for field, want := range map[int][2]uint32{
		136 << 8:                  {136, 0},
		136<<8 | 255:              {136, 255},
		136<<8 | 0x10 | 0x100<<12: {136, 272},
		4<<8 | 1:                  {4, 1},
	} {
		if got := ttyNumber(field); got != int64(unix.Mkdev(want[0], want[1])) {
			t.Errorf("%#x: got %d, want %v", field, got, want)
		}
	}
	if got := ttyNumber(0); got != 0 {
		t.Errorf("no terminal: got %d", got)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (claude) S 10 20 30 34817 40 4194304 1 2 3 4 5 6 7 8 20 0 9 0 123456 1 2 3\n"))
	f.Add([]byte("7 (a) b) R"))
	f.Add([]byte(") ( 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := parseStat(data)
		if err == nil && info.Start == "" {
			t.Errorf("got %+v", info)
		}
	})
}
