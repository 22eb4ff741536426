package transcript

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A line of 40 MB is read in memory that does not grow with it.
func TestLongLine(t *testing.T) {
	c := new(claude).user("before").call("c1", "cat image")
	c.result("c1", "HEAD "+strings.Repeat("0123456789abcdef", 40<<16)+" TAIL").say("after")
	c.raw(`{"type":"wide","sessionId":"` + testSession + `","x":[` + strings.Repeat("1,", 900_000) + `1]}`)
	file, _ := c.write(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tail := mustRead(t, file, Options{})
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 12<<20 {
		t.Errorf("allocated %d MB for a tail", used>>20)
	}
	if len(tail.Turns) != 3 || tail.Turns[2].Text != "after" || tail.Turns[0].Text != "before" {
		t.Fatalf("got %.500s", texts(tail))
	}
	out := tail.Turns[1].Tools[0].Output
	if !strings.HasPrefix(out, "HEAD") || !strings.Contains(out, "left out") {
		t.Errorf("got %q", out)
	}
	if !slices.Contains(tail.Omitted, "1 record too large to read") {
		t.Errorf("left out: %q", tail.Omitted)
	}
}

// Somebody replaces the file again and again: every read is one of the two,
// never a mixture.
func TestReplacedWhileRead(t *testing.T) {
	makeFile := func(word string) string {
		c := new(claude)
		for range 300 {
			c.user(word).say(word)
		}
		return c.String()
	}
	contents := []string{makeFile("alpha"), makeFile("beta beta")}
	file, root := new(claude).user("x").write(t)
	writeFile(t, file, contents[0])
	done := make(chan error, 1)
	go func() {
		for i := range 500 {
			tmp := filepath.Join(root, "tmp")
			err := os.WriteFile(tmp, []byte(contents[i%2]), 0o600)
			if err == nil {
				err = os.Rename(tmp, file)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for replaced := false; ; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			replaced = true
		default:
		}
		tail, err := ReadTail(context.Background(), file, Options{Limit: 400, MaxBytes: 1 << 20})
		if err != nil {
			if replaced {
				t.Fatal(err)
			}
			continue // "changes faster than it can be read"
		}
		if got := texts(&tail); len(tail.Turns) != 400 || strings.Contains(got, "alpha") == strings.Contains(got, "beta") {
			t.Fatalf("a mixture, or not all: %d turns", len(tail.Turns))
		}
		if replaced {
			return // the last read, undisturbed, came through too
		}
	}
}

func TestTruncatedWhileRead(t *testing.T) {
	c := new(claude)
	for range 5000 {
		c.user(strings.Repeat("word ", 100))
	}
	r := &shrinking{data: []byte(c.String())}
	g := newGatherer(r, testSession+".jsonl", int64(len(r.data)), Options{Limit: 5000, MaxBytes: 64 << 20}.withDefaults(testSession+".jsonl"))
	r.data = r.data[:1000]
	if _, err := g.tail(context.Background()); err == nil {
		t.Error("no error")
	}
}

// shrinking is a file that lost its end.
type shrinking struct{ data []byte }

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(s.data)).ReadAt(p, off)
}

func TestOnlyFilesOfTheClient(t *testing.T) {
	dir := realTempDir(t)
	secret := filepath.Join(dir, "secret.jsonl")
	writeFile(t, secret, new(claude).user("SECRET").String())
	root := filepath.Join(dir, "home")
	projects := filepath.Join(root, "projects", "-p")
	inside := filepath.Join(projects, testSession+".jsonl")
	writeFile(t, inside, new(claude).user("fine").String())
	link := func(name, to string) string {
		t.Helper()
		from := filepath.Join(projects, name)
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
		return from
	}
	fifo := filepath.Join(projects, "fifo.jsonl")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(dir, "outside")
	writeFile(t, filepath.Join(outside, "x.jsonl"), "{}\n")
	for name, file := range map[string]string{
		"a link to a file outside":   link("out.jsonl", secret),
		"a link to a folder outside": filepath.Join(link("dir", outside), "x.jsonl"),
		"a path outside":             secret,
		"dots":                       filepath.Join(projects, "..", "..", "..", "secret.jsonl"),
		"a named pipe":               fifo,
		"a folder":                   projects,
	} {
		if tail, err := ReadTail(context.Background(), file, Options{Root: root, Client: Claude}); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: got %v, %d turns; want ErrOutside", name, err, len(tail.Turns))
		}
	}
	alias := filepath.Join(dir, "alias")
	if err := os.Symlink(root, alias); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"the folder itself is a link":               {Root: alias},
		"a link inside the folder":                  {Root: root},
		"folder by its link, file by its real path": {Root: alias},
	} {
		file := inside
		if name == "a link inside the folder" {
			file = link("in.jsonl", testSession+".jsonl")
		} else if name == "the folder itself is a link" {
			file = filepath.Join(alias, "projects", "-p", testSession+".jsonl")
		}
		if tail, err := ReadTail(context.Background(), file, o); err != nil || len(tail.Turns) != 1 {
			t.Errorf("%s: %v, %d turns", name, err, len(tail.Turns))
		}
	}
}
