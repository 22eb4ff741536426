package detect

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

// recorded is a process tree taken from a machine with the real clients; see
// testdata/trees. It stands in for the kernel.
type recorded map[int]recordedProcess

type recordedProcess struct {
	PID     int               `json:"pid"`
	PPID    int               `json:"ppid"`
	Session int               `json:"session"`
	Start   string            `json:"start"`
	Comm    string            `json:"comm"`
	State   string            `json:"state"`
	TTY     int64             `json:"tty"`
	Exe     string            `json:"exe"`
	CWD     string            `json:"cwd"`
	Argv    []string          `json:"args"`
	Environ map[string]string `json:"env"`
	Open    []string          `json:"files"`
}

func (p recordedProcess) info() proc.Info {
	return proc.Info{
		ID: proc.ID{PID: p.PID, Start: p.Start}, PPID: p.PPID, Session: p.Session,
		TTY: p.TTY, State: p.State[0], Comm: p.Comm,
	}
}

func (r recorded) Stat(pid int) (proc.Info, error) {
	p, ok := r[pid]
	if !ok {
		return proc.Info{}, proc.ErrGone
	}
	return p.info(), nil
}

func (r recorded) Exe(pid int) string    { return r[pid].Exe }
func (r recorded) Args(pid int) []string { return r[pid].Argv }
func (r recorded) CWD(pid int) string    { return r[pid].CWD }

func (r recorded) Env(pid int, keys ...string) map[string]string {
	found := map[string]string{}
	for _, key := range keys {
		if v, ok := r[pid].Environ[key]; ok {
			found[key] = v
		}
	}
	return found
}

func (r recorded) List() ([]proc.Info, error) {
	var all []proc.Info
	for _, p := range r {
		all = append(all, p.info())
	}
	return all, nil
}

func (r recorded) Files(pid int) ([]string, error) {
	if _, ok := r[pid]; !ok {
		return nil, errors.New("no such process")
	}
	return r[pid].Open, nil
}

// Born is the real birth of a file.
func (r recorded) Born(file string) (time.Time, bool) { return machine{}.Born(file) }

// change edits one process of the tree.
func (r recorded) change(pid int, edit func(*recordedProcess)) {
	p := r[pid]
	edit(&p)
	r[p.PID] = p
}

// tree loads a recorded tree. Its /home/dev is the folder home.
func tree(t testing.TB, name, home string) recorded {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "trees", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []recordedProcess
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "/home/dev", home)), &list); err != nil {
		t.Fatal(err)
	}
	r := recorded{}
	for _, p := range list {
		r[p.PID] = p
	}
	return r
}

// facts are those of one process of the tree, as peermux would gather them there.
func (r recorded) facts(t testing.TB, pid int) Facts {
	t.Helper()
	self, err := r.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	env := r[pid].Environ
	return Facts{
		Self: self, Ancestors: proc.Chain(self, r.Stat),
		Env:      func(key string) string { return env[key] },
		Home:     env["HOME"],
		Registry: registry.Open(t.TempDir(), time.Now),
		Now:      time.Now(),
		CWD:      r[pid].CWD,
		System:   r,
	}
}

// claudeSession writes the session file of a Claude process, from a recorded one,
// with the given fields replaced.
func claudeSession(t testing.TB, home, sample string, fields map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "sessions", sample+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for k, v := range fields {
		s[k] = v
	}
	if data, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	pid, err := json.Marshal(s["pid"])
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".claude", "sessions", string(pid)+".json"), string(data))
}

func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// outcome picks one strategy's outcome.
func (d Diagnosis) outcome(strategy string) Outcome {
	for _, o := range d.Outcomes {
		if o.Strategy == strategy {
			return o
		}
	}
	return Outcome{}
}
