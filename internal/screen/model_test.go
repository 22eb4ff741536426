package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/tmux"
)

// write feeds data in pieces of the given size, as reads may cut it anywhere.
func write(m *Model, data string, piece int) {
	for len(data) > 0 {
		n := min(piece, len(data))
		if _, err := m.Write([]byte(data[:n])); err != nil {
			panic(err)
		}
		data = data[n:]
	}
}

func rows(s Screen) []string {
	var text []string
	for _, l := range s.Lines {
		text = append(text, l.Text())
	}
	return text
}

// streams are what terminals must agree on. Every one is also given to tmux.
var streams = map[string]string{
	"plain":           "one\r\ntwo",
	"wrap":            strings.Repeat("x", 45),
	"wrap pending":    strings.Repeat("x", 20),
	"wrap then cr":    strings.Repeat("x", 20) + "\ry",
	"scroll":          strings.Repeat("line\r\n", 9) + "end",
	"cursor":          "\x1b[3;5Habc\x1b[A\x1b[2Dd\x1b[Be\x1b[5Gf\x1b[2dg\x1b[Hh",
	"cursor bounds":   "\x1b[99;99Hx\x1b[99A\x1b[99Dy\x1b[99Cz\x1b[99Bw",
	"tabs":            "a\tb\tc\td",
	"tab stops":       "\x1b[3g\x1b[5G\x1bH\r\tx\x1b[Zy",
	"erase line":      "abcdef\x1b[3D\x1b[K\r\nabcdef\x1b[3D\x1b[1K\r\nabcdef\x1b[2Kx",
	"erase display":   "a\r\nb\r\nc\r\nd\x1b[2;1H\x1b[J",
	"erase above":     "aaa\r\nbbb\r\nccc\x1b[2;2H\x1b[1J",
	"erase all":       "aaa\r\nbbb\x1b[2Jc",
	"insert delete":   "abcdef\x1b[4D\x1b[2@X\r\nabcdef\x1b[4D\x1b[2P\r\nabcdef\x1b[4D\x1b[2X",
	"insert mode":     "abc\x1b[1G\x1b[4hXY\x1b[4lZ",
	"lines":           "a\r\nb\r\nc\r\nd\r\ne\x1b[2;1H\x1b[2L\x1b[4;1H\x1b[M",
	"region":          "a\r\nb\r\nc\r\nd\r\ne\x1b[2;4r\x1b[4;1H\nX\x1b[2;1H\x1bMY",
	"region moves":    "\x1b[2;4r\x1b[3;1H\x1b[9Aa\x1b[9Bb\x1b[r",
	"origin":          "\x1b[2;4r\x1b[?6h\x1b[1;1Ha\x1b[9;9Hb\x1b[?6l\x1b[1;1Hc",
	"scroll commands": "a\r\nb\r\nc\x1b[S\x1b[2T",
	"save restore":    "\x1b[2;3H\x1b7\x1b[Hx\x1b8y\x1b[s\x1b[Hz\x1b[uw",
	"dim":             "\x1b[2mghost\x1b[22mreal\x1b[7mr\x1b[27mn\x1b[2;7mb\x1b[0mx",
	"colours":         "\x1b[38;2;2;7;2ma\x1b[48;5;7mb\x1b[38:2:1:2:3mc\x1b[4:2md\x1b[me",
	"alternate":       "main\x1b[?1049hother\x1b[2;2Hx",
	"alternate back":  "main\x1b[?1049h\x1b[5;5Hother\x1b[?1049l!",
	"alternate 47":    "main\x1b[?47hother\x1b[?47l",
	"title":           "\x1b]0;the title\x07a\x1b]2;another ✳\x1b\\b\x1b]1;icon\x07",
	"strings skipped": "a\x1bPq#0;2~\x1b\\bc\x1b^pm\x1b\\d\x1b]8;;http://x\x1b\\e\x1b]8;;\x1b\\f",
	"utf8":            "❯\u00a0é─│⠹日本語x",
	"wide wraps":      strings.Repeat("a", 19) + "日b",
	"line drawing":    "\x1b(0lqk\x1b(Blqk\x0e\x1b)0x\x0fx",
	"repeat":          "a\x1b[4bb",
	"alignment":       "\x1b#8\x1b[2;2Hx",
	"back":            "abc\b\bX",
	"back at margin":  strings.Repeat("x", 20) + "\b\by",
	"no wrap":         "\x1b[?7l" + strings.Repeat("x", 25) + "y\x1b[?7hz",
	"controls inside": "a\x1b[\r2Cb",
	"cancelled":       "a\x1b[3\x18b\x1b[3\x1ac",
	"next line":       "a\x1bEb\x1bDc",
	"reset":           "\x1b[2m\x1b[2;3rabc\x1bcx",
	"modes ignored":   "\x1b[?25l\x1b[?1006h\x1b[>1u\x1b[?2026ha\x1b[=5u\x1b[<1ub\x1b[?u\x1b[c",
	"full redraw":     "\x1b[H\x1b[2J\x1b[1;1Hone\x1b[K\r\n\x1b[2mtwo\x1b[0m\x1b[K\x1b[4;3H",
}

const oracleWidth, oracleHeight = 20, 6

// oracle shows a stream in a real tmux pane and reads the pane's screen.
func oracle(t *testing.T, data []string) []Screen {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmx") // short: the socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &tmux.Runner{
		Socket: filepath.Join(dir, "s"),
		Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color"},
	}
	ctx := context.Background()
	run := func(args ...string) {
		t.Helper()
		if _, err := r.Run(ctx, "", args...); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := r.Run(ctx, "", "kill-server"); err != nil && !errors.Is(err, tmux.ErrNoServer) {
			t.Error(err)
		}
	})
	run("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(oracleWidth), "-y", fmt.Sprint(oracleHeight), "sleep 1000")
	screens := make([]Screen, len(data))
	for i, d := range data {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, []byte(d), 0o600); err != nil {
			t.Fatal(err)
		}
		// The signal that all was shown goes to a file: anything printed would count.
		done := file + ".done"
		run("respawn-pane", "-k", "-t", "%0", "stty raw -echo; printf '\\033c\\033]2;\\033\\\\'; cat "+file+"; touch "+done+"; exec sleep 1000")
		screens[i] = settled(t, r, done)
	}
	return screens
}

// settled waits until the program has written all, and tmux has read it.
func settled(t *testing.T, r *tmux.Runner, done string) Screen {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	var before Screen
	for same := 0; time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(done); err != nil {
			continue
		}
		p, text, err := r.Look(context.Background(), "%0")
		if err != nil {
			t.Fatal(err)
		}
		now := Screen{Lines: Parse(text), CursorX: p.CursorX, CursorY: p.CursorY, Title: p.Title, Alternate: p.AlternateOn}
		if diff(now, before) == "" {
			same++
		} else {
			same = 0
		}
		if same == 2 {
			return now
		}
		before = now
	}
	t.Fatal("the pane did not settle in 10 s")
	return Screen{}
}

func diff(got, want Screen) string {
	for i := range max(len(got.Lines), len(want.Lines)) {
		var g, w Line
		if i < len(got.Lines) {
			g = got.Lines[i]
		}
		if i < len(want.Lines) {
			w = want.Lines[i]
		}
		if g.Text() != w.Text() || g.Typed() != w.Typed() {
			return fmt.Sprintf("row %d: %q (typed %q), want %q (typed %q)", i, g.Text(), g.Typed(), w.Text(), w.Typed())
		}
	}
	if got.CursorX != want.CursorX || got.CursorY != want.CursorY {
		return fmt.Sprintf("cursor %d,%d, want %d,%d", got.CursorX, got.CursorY, want.CursorX, want.CursorY)
	}
	if got.Alternate != want.Alternate {
		return fmt.Sprintf("alternate %v, want %v", got.Alternate, want.Alternate)
	}
	if got.Title != want.Title {
		return fmt.Sprintf("title %q, want %q", got.Title, want.Title)
	}
	return ""
}

func TestModelAgreesWithTmux(t *testing.T) {
	var names, data []string
	for name, d := range streams {
		names, data = append(names, name), append(data, d)
	}
	for i := range 60 {
		names, data = append(names, fmt.Sprintf("random %d", i)), append(data, randomStream(uint64(i)))
	}
	want := oracle(t, data)
	for i, name := range names {
		for _, piece := range []int{1, 7, 1 << 20} {
			m := NewModel(oracleWidth, oracleHeight)
			write(m, data[i], piece)
			if d := diff(m.Screen(), want[i]); d != "" {
				t.Errorf("%s in pieces of %d: %s\n%q", name, piece, d, data[i])
				break
			}
		}
	}
}

// randomStream mixes what full-screen programs send.
func randomStream(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for range 60 {
		switch r.IntN(12) {
		case 0:
			fmt.Fprintf(&b, "\x1b[%d;%dH", 1+r.IntN(oracleHeight), 1+r.IntN(oracleWidth))
		case 1:
			fmt.Fprintf(&b, "\x1b[%d%c", r.IntN(4), "ABCD"[r.IntN(4)])
		case 2:
			fmt.Fprintf(&b, "\x1b[%d%c", r.IntN(3), "JK"[r.IntN(2)])
		case 3:
			fmt.Fprintf(&b, "\x1b[%d%c", 1+r.IntN(3), "PX@"[r.IntN(3)])
		case 4:
			fmt.Fprintf(&b, "\x1b[%dm", []int{0, 2, 7, 22, 27, 31}[r.IntN(6)])
		case 5:
			top := 1 + r.IntN(oracleHeight-1)
			fmt.Fprintf(&b, "\x1b[%d;%dr", top, top+1+r.IntN(oracleHeight-top))
		case 6:
			b.WriteString([]string{"\r\n", "\r", "\n", "\b", "\t", "\x1bM", "\x1bD"}[r.IntN(7)])
		case 7:
			b.WriteString([]string{"\x1b7", "\x1b8", "\x1b[r", "\x1b[S", "\x1b[T", "\x1b[r\x1b[3;3H\x1b[2L", "\x1b[r\x1b[2;2H\x1b[2M"}[r.IntN(7)])
		default:
			b.WriteString([]string{"hello ", "❯ ", "──", "x", "0123456789", "é"}[r.IntN(6)])
		}
	}
	return b.String()
}

func TestModelResize(t *testing.T) {
	m := NewModel(10, 4)
	write(m, "one\r\ntwo\r\nthree\r\nfour", 3)
	m.Resize(4, 2)
	if got := rows(m.Screen()); got[0] != "thre" || got[1] != "four" {
		t.Errorf("got %q", got)
	}
	m.Resize(12, 5)
	write(m, "\x1b[5;1Hlast", 3)
	if got := rows(m.Screen()); len(got) != 5 || got[0] != "thre" || got[4] != "last" {
		t.Errorf("got %q", got)
	}
	m.Resize(0, 1<<30) // clamped, not believed
	if s := m.Screen(); s.Width != minSize || s.Height != maxSize {
		t.Errorf("got %d x %d", s.Width, s.Height)
	}
}

func TestModelModes(t *testing.T) {
	m := NewModel(10, 4)
	if m.PasteMode() {
		t.Error("paste mode at the start")
	}
	write(m, "\x1b[?1004;2004h", 1)
	if !m.PasteMode() {
		t.Error("paste mode was asked for")
	}
	write(m, "\x1b[?2004l", 1)
	if m.PasteMode() {
		t.Error("paste mode was switched off")
	}
}

// FuzzModel: any bytes, cut anywhere, give the same screen and no panic.
func FuzzModel(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s), uint8(3), uint8(oracleWidth), uint8(oracleHeight))
	}
	f.Add([]byte("\xe2\x9d\x1b[\xff;\xe2\x9d\xaf"), uint8(1), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, piece, width, height uint8) {
		whole, pieces := NewModel(int(width), int(height)), NewModel(int(width), int(height))
		write(whole, string(data), len(data)+1)
		write(pieces, string(data), int(piece)+1)
		a, b := whole.Screen(), pieces.Screen()
		if d := diff(b, a); d != "" {
			t.Errorf("in pieces: %s", d)
		}
		whole.Resize(int(height), int(width))
		write(whole, string(data), len(data)+1)
		if s := whole.Screen(); s.CursorX > s.Width || s.CursorY >= s.Height {
			t.Errorf("cursor %d,%d outside of %d x %d", s.CursorX, s.CursorY, s.Width, s.Height)
		}
	})
}

func BenchmarkModel(b *testing.B) {
	streams := map[string]string{
		"lines":  strings.Repeat(strings.Repeat("x", 100)+"\r\n", 640),
		"redraw": strings.Repeat("\x1b[3;5H\x1b[38;5;244mhello world\x1b[0m foo ❯ bar", 640),
		"boxes":  strings.Repeat(strings.Repeat("─", 80)+"\r\n", 200),
	}
	for name, data := range streams {
		b.Run(name, func(b *testing.B) {
			m := NewModel(160, 50)
			raw := bytes.Clone([]byte(data))
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := m.Write(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
