package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestWire plays the conversations in testdata. Of each archive the file "wire" is
// played: lines that begin with ">" are sent, and the lines that come back until
// the request is answered have to be those that follow with "<". Ids, times, pids
// and paths are replaced by names. -update writes the "<" lines anew; look at the
// diff.
//
// The server stands for a session of Claude Code named ann in a project with a
// second session, ben.
func TestWire(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 1 || archive.Files[0].Name != "wire" {
				t.Fatalf("%s has to hold one file, wire", file)
			}
			got := play(t, string(archive.Files[0].Data))
			if flag.Lookup("update").Value.String() == "true" {
				archive.Files[0].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(archive.Files[0].Data); got != want {
				t.Errorf("%s: the conversation went otherwise; run go test ./mcpserver -update and look at the diff\n%s", file, firstDifference(got, want))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// player is a client that writes and reads raw lines.
type player struct {
	t     *testing.T
	in    io.Writer
	lines chan string
	names names
}

func play(t *testing.T, script string) string {
	t.Helper()
	h := newHouse(t)
	h.claude("ben")
	p := newPlayer(t, h)
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		request, sends := strings.CutPrefix(line, "> ")
		switch {
		case sends:
			fmt.Fprintln(&out, line)
			for _, answer := range p.exchange(request) {
				fmt.Fprintln(&out, "< "+answer)
			}
		case !strings.HasPrefix(line, "< "):
			fmt.Fprintln(&out, line) // a comment
		}
	}
	return out.String()
}

func newPlayer(t *testing.T, h *house) *player {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The stand-in client is an agent whose lines are read here instead.
	a := &agent{t: t, house: h, cmd: exec.Command(self)}
	for k, v := range h.env {
		a.cmd.Env = append(a.cmd.Env, k+"="+v)
	}
	a.cmd.Env = append(a.cmd.Env, roleVar+"=client")
	a.cmd.Dir = h.dir
	in, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a.cmd.Stdout = outW
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outW.Close()
	p := &player{t: t, in: in, lines: make(chan string, 100), names: names{seen: map[string]string{}, dir: filepath.Dir(h.home)}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- strings.TrimSpace(line)
		}
	}()
	t.Cleanup(func() {
		in.Close()
		// It may have ended with its input; that it was killed is what Wait says.
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
		<-ended
		outR.Close()
	})
	a.is("session-of-ann", "ann", "busy")
	return p
}

// exchange sends one line and collects what comes until it is answered: for a
// request its response, for a line that is no message an error without an id, for
// a notification nothing.
func (p *player) exchange(request string) []string {
	p.t.Helper()
	request = p.names.resolve(request)
	if _, err := io.WriteString(p.in, request+"\n"); err != nil {
		p.t.Fatal(err)
	}
	var m struct{ ID json.RawMessage }
	if json.Unmarshal([]byte(request), &m) == nil && m.ID == nil && strings.HasPrefix(request, "{") {
		return nil
	}
	var got []string
	for {
		select {
		case line := <-p.lines:
			got = append(got, p.names.replace(line))
			var r struct{ ID json.RawMessage }
			if json.Unmarshal([]byte(line), &r) == nil && r.ID != nil && (m.ID == nil || string(r.ID) == string(m.ID) || string(r.ID) == "null") {
				return got
			}
		case <-time.After(patience):
			p.t.Fatalf("no answer to %s; got %v", request, got)
		}
	}
}

// names replaces what differs from run to run.
type names struct {
	seen map[string]string
	ids  int
	dir  string
}

var varying = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`"(pid|server_pid)(\\?)":\d+`), `"$1$2":PID`},
	{regexp.MustCompile(`pid \d+`), `pid PID`},
	{regexp.MustCompile(`pid:\d+`), `pid:PID`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^"\\]*`), `TIME`},
	{regexp.MustCompile(`"waited_ms(\\?)":\d+`), `"waited_ms$1":MS`},
	{regexp.MustCompile(`"host(\\?)":(\\?)"[^"\\]*`), `"host$1":$2"HOST`},
	{regexp.MustCompile(`in \d+ s\b`), `in N s`},
}

var messageID = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`)

func (n *names) replace(line string) string {
	line = strings.ReplaceAll(line, n.dir, "DIR")
	line = messageID.ReplaceAllStringFunc(line, func(id string) string {
		if _, known := n.seen[id]; !known {
			n.ids++
			n.seen[id] = fmt.Sprint("ID", n.ids)
		}
		return n.seen[id]
	})
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.name)
	}
	return line
}

// resolve puts real ids in the place of the names that replace gave them.
func (n *names) resolve(line string) string {
	for id, name := range n.seen {
		line = strings.ReplaceAll(line, `"`+name+`"`, `"`+id+`"`)
	}
	return line
}
