package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// readBytes is ReadTail on bytes that stand in a file of this name.
func readBytes(file string, data []byte, o Options) (Tail, error) {
	g := newGatherer(bytes.NewReader(data), file, int64(len(data)), o.withDefaults(file))
	defer g.close()
	return g.tail(context.Background())
}

// checkTail reports a promise of a read that is broken.
func checkTail(t *Tail, o Options) error {
	if o.Limit > 0 && len(t.Turns) > o.Limit {
		return fmt.Errorf("%d turns, limit %d", len(t.Turns), o.Limit)
	}
	data, err := json.Marshal(t.Turns)
	if err != nil {
		return err
	}
	// A turn that cannot be made smaller (a time, a role) may pass a tiny limit.
	if most := max(o.MaxBytes, 256) + 2; o.MaxBytes > 0 && len(data) > most {
		return fmt.Errorf("%d bytes, limit %d", len(data), o.MaxBytes)
	}
	for _, turn := range t.Turns {
		if turn.Role == "" {
			return fmt.Errorf("a turn without a role: %+v", turn)
		}
		if strings.ContainsAny(turn.Text, "\x00\x1b\x07\r") {
			return fmt.Errorf("control characters in %q", turn.Text)
		}
	}
	return nil
}

// Any truncation of any transcript, and any budget: no panic, no error, no turn
// that the whole file does not have.
func TestAnyTruncation(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, file := range fixtures(t) {
		data := readFile(t, file)
		name := filepath.Base(file)
		if isSubagentFile(file) {
			name = file
		}
		for range 80 {
			cut := rnd.IntN(len(data) + 1)
			o := Options{Limit: 1 + rnd.IntN(30), MaxBytes: 200 << rnd.IntN(9), Sidechains: rnd.IntN(2) == 0}
			tail, err := readBytes(name, data[:cut], o)
			if err == nil {
				err = checkTail(&tail, o)
			}
			if err != nil {
				t.Fatalf("%s cut at %d, %+v: %v", file, cut, o, err)
			}
		}
	}
}

// What is appended only adds: the turns of a file that was cut at a line are the
// first turns of the whole one, as long as nothing is taken back.
func TestPrefixAgrees(t *testing.T) {
	file := "testdata/codex-0.98.0/sessions/2026/11/30/rollout-2026-11-30T11-36-46-01a22c3e-3d25-7600-954a-a64ebaa0240f.jsonl"
	data := readFile(t, file)
	whole, err := readBytes(filepath.Base(file), data, Options{Limit: 1000, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range data {
		if b != '\n' {
			continue
		}
		part, err := readBytes(filepath.Base(file), data[:i+1], Options{Limit: 1000, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for j, turn := range part.Turns {
			if w := whole.Turns[j]; turn.Role != w.Role || !strings.HasPrefix(w.Text, turn.Text) || len(turn.Tools) > len(w.Tools) {
				t.Fatalf("cut at %d: turn %d is %+v, in the whole file %+v", i, j, turn, w)
			}
		}
	}
}

// Lines of two sessions, shuffled into one file: a read of either shows only its
// own words.
func TestNoWrongSession(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		a := &claude{session: "aaaaaaaa-0000-4000-8000-000000000000"}
		b := &claude{session: "bbbbbbbb-0000-4000-8000-000000000000"}
		for i := range 10 {
			a.user("ALPHA").call(fmt.Sprint("a", i), "ALPHA").result(fmt.Sprint("a", i), "ALPHA").say("ALPHA")
			b.user("BETA").call(fmt.Sprint("b", i), "BETA").result(fmt.Sprint("b", i), "BETA").say("BETA")
		}
		mixed := append(append([]string(nil), a.lines...), b.lines...)
		rnd.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		data := []byte(strings.Join(mixed, "\n") + "\n")
		for session, word := range map[string]string{a.session: "BETA", b.session: "ALPHA"} {
			tail, err := readBytes(session+".jsonl", data, Options{Limit: 1 + rnd.IntN(50)})
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(&tail); strings.Contains(got, word) || len(tail.Turns) == 0 {
				t.Fatalf("session %s shows %s of the other: %s", session, word, got)
			}
		}
	}
}

// backward returns the lines that a split at newlines gives, last first.
func TestBackwardLines(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		var want []string
		for range rnd.IntN(40) {
			want = append(want, strings.Repeat("x", rnd.IntN([]int{3, 100, chunkSize, maxLine + chunkSize}[rnd.IntN(4)])))
		}
		data := strings.Join(want, "\n")
		if rnd.IntN(2) == 0 && data != "" {
			data += "\n"
		}
		checkBackward(t, data)
	}
	for _, data := range []string{"", "\n", "\n\n", "a", "a\n", "\na", "a\n\nb", strings.Repeat("\n", chunkSize+5), strings.Repeat("x", chunkSize) + "\n" + strings.Repeat("y", chunkSize)} {
		checkBackward(t, data)
	}
}

func checkBackward(t *testing.T, data string) {
	t.Helper()
	b := newBackward(strings.NewReader(data), int64(len(data)))
	end := len(data)
	first := true
	for {
		l, err := b.next(context.Background())
		if err != nil {
			break
		}
		got := data[l.start : l.start+l.size]
		if l.data != nil && string(l.data) != got {
			t.Fatalf("the line at %d is not what the file holds there", l.start)
		}
		if l.data == nil && l.size <= maxLine && l.size > 0 {
			t.Fatalf("a line of %d bytes was not held", l.size)
		}
		if strings.Contains(got, "\n") {
			t.Fatalf("the line at %d holds a newline", l.start)
		}
		if l.torn != (first && int(l.start+l.size) == len(data)) {
			t.Fatalf("line at %d: torn %v", l.start, l.torn)
		}
		if between := data[l.start+l.size : end]; between != "\n" && !(first && between == "") {
			t.Fatalf("between the line at %d and the one after it stands %.20q", l.start, between)
		}
		end, first = int(l.start), false
	}
	if left := strings.Trim(data[:end], "\n"); left != "" {
		t.Fatalf("%d bytes were not returned", len(left))
	}
}

func FuzzReadTail(f *testing.F) {
	for _, file := range fixtures(f) {
		data := readFile(f, file)
		f.Add(data[max(0, len(data)-6000):], strings.Contains(file, "rollout"))
	}
	f.Add([]byte(new(claude).user("go").call("c", "ls").result("c", "x").say("ok").String()), false)
	f.Fuzz(func(t *testing.T, data []byte, codex bool) {
		name := testSession + ".jsonl"
		if codex {
			name = "rollout-2026-03-01T10-00-00-" + testSession + ".jsonl"
		}
		for _, o := range []Options{{Limit: 3, MaxBytes: 600}, {Limit: 20, MaxBytes: 24 << 10, Sidechains: true}} {
			tail, err := readBytes(name, data, o)
			if err == nil {
				err = checkTail(&tail, o)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// members takes apart what encoding/json takes apart, in the same way.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` { "a" : "b\"c" , "d":[1,{"e":"}"}],"f":null} `, `{"a"`, `{"a":}`, `{"a":1,}`, `[]`, `"x"`, `{"\u0061":"\\"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]string{}
		keys := 0
		ok := members(data, func(key, value []byte) bool {
			got[string(key)] = string(value)
			keys++
			return true
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return // members takes more: it does not check numbers and escapes
		}
		if !ok {
			t.Fatalf("%q is an object, members says no", data)
		}
		for k, v := range want {
			if quoted, err := json.Marshal(k); err != nil || !strings.Contains(string(data), string(quoted)) {
				continue // a key with escapes
			}
			if g, found := got[k]; !found || strings.TrimSpace(string(v)) != g {
				t.Fatalf("%q: %s is %q, want %q", data, k, g, v)
			}
		}
	})
}

// A shrunk line is JSON when the line was, and says the same but for the middle
// of long strings.
func FuzzShrink(f *testing.F) {
	f.Add("plain", 3)
	f.Add(`quotes " and \ slashes`, 9000)
	f.Add("ü\u2028\x01", 20_000)
	f.Fuzz(func(t *testing.T, s string, n int) {
		s = strings.ToValidUTF8(s, "?")
		n = max(0, min(n, 40_000))
		line, err := json.Marshal(map[string]any{"k": strings.Repeat(s, n/(len(s)+1)+1), "list": []any{1, s}})
		if err != nil {
			t.Fatal(err)
		}
		short, err := shrink(context.Background(), bytes.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		var was, is struct {
			K    string `json:"k"`
			List []any  `json:"list"`
		}
		if err := json.Unmarshal(short, &is); err != nil {
			t.Fatalf("%v: %.200q", err, short)
		}
		if err := json.Unmarshal(line, &was); err != nil {
			t.Fatal(err)
		}
		head, _, cut := strings.Cut(is.K, " […")
		head = strings.TrimRight(head, "\uFFFD")
		if cut && strings.Contains(s, " […") {
			return
		}
		if !strings.HasPrefix(was.K, head) || !cut && was.K != is.K || cut && len(line) < shrunkString {
			t.Fatalf("%d bytes became %.100q", len(line), is.K)
		}
	})
}
