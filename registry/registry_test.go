package registry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

func TestEntryOnDisk(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	r := registry.Open(home, time.Now)
	e := entry(start(t).ID, "a")
	e.Client.PID, e.Client.Start, e.Client.Version = e.PID, e.Start, "2.1.328"
	e.Tmux = &registry.Tmux{Socket: "/tmp/s", ServerPID: 1, Session: "main", Window: "w", Pane: "%3"}
	e.Host = &registry.PTYHost{Socket: "/tmp/h"}
	mustPut(t, r, e)
	data, err := os.ReadFile(file(home, e))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("\n  \"session_id\": \"session-a\"")) {
		t.Errorf("not pretty-printed:\n%s", data)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"v", "pid", "start", "client", "session_id", "box", "name", "cwd", "project", "tmux", "pty_host", "state", "started_at", "seen_at", "host", "boot_id"} {
		if _, ok := fields[key]; !ok && !(key == "boot_id" && proc.BootID() == "") {
			t.Errorf("no %q in\n%s", key, data)
		}
	}
	info, err := os.Stat(file(home, e))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	got, ok, err := r.BySession("session-a")
	if err != nil || !ok || got.Tmux.Pane != "%3" || got.Host.Socket != "/tmp/h" || got.SeenAt.IsZero() {
		t.Errorf("got %+v, %v, %v", got, ok, err)
	}
}

func TestEmptyHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "none")
	r := registry.Open(home, time.Now)
	if got := live(t, r); got != "" {
		t.Errorf("got %q", got)
	}
	if drops, err := r.Drops(); err != nil || len(drops) != 0 {
		t.Errorf("got %v, %v", drops, err)
	}
	if word, _ := r.Status("s-x"); word != registry.Unknown {
		t.Errorf("got %q", word)
	}
	if err := r.Remove(1, "1"); err != nil {
		t.Error(err)
	}
	if exists(home) {
		t.Error("reading made the home")
	}
}

func TestDeadAreRemoved(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	server, client, other := start(t), start(t), start(t)
	a, b := entry(server.ID, "a"), entry(other.ID, "b")
	b.Client.PID, b.Client.Start = client.PID, client.Start
	mustPut(t, r, a, b)
	if got := live(t, r); got != "a b" {
		t.Fatalf("got %q", got)
	}
	server.kill(t)
	client.kill(t)
	peeked, err := r.Peek()
	if err != nil || len(peeked) != 0 {
		t.Errorf("peek: got %q, %v", names(peeked), err)
	}
	if !exists(file(home, a)) || !exists(file(home, b)) {
		t.Error("Peek removed something")
	}
	if got := live(t, r); got != "" {
		t.Errorf("got %q", got)
	}
	if exists(file(home, a)) || exists(file(home, b)) {
		t.Error("the dead were not removed: one whose server died, one whose client died")
	}
}

// A zombie still has a pid and a start time.
func TestZombieIsDead(t *testing.T) {
	r := registry.Open(t.TempDir(), time.Now)
	s := start(t)
	mustPut(t, r, entry(s.ID, "a"))
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the zombie", func() bool {
		info, err := proc.Stat(s.PID)
		return err == nil && info.Zombie()
	})
	if got := live(t, r); got != "" {
		t.Errorf("got %q", got)
	}
	s.kill(t)
}

func TestReusedPID(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	e := entry(start(t).ID, "a")
	e.Start += "1" // an earlier process had this pid
	mustPut(t, r, e)
	if got := live(t, r); got != "" {
		t.Errorf("got %q", got)
	}
}

// The wall clock plays no part in liveness.
func TestClockChange(t *testing.T) {
	now := time.Now()
	r := registry.Open(t.TempDir(), func() time.Time { return now })
	mustPut(t, r, entry(start(t).ID, "a"))
	for _, shift := range []time.Duration{-24 * 365 * time.Hour, 24 * 365 * time.Hour} {
		now = time.Now().Add(shift)
		if got := live(t, r); got != "a" {
			t.Errorf("after a shift of %v: got %q", shift, got)
		}
	}
}

func TestEarlierBoot(t *testing.T) {
	if proc.BootID() == "" {
		t.Fatal("the system does not tell its boot")
	}
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	e := entry(start(t).ID, "a")
	mustPut(t, r, e)
	edit(t, file(home, e), func(f map[string]any) { f["boot_id"] = "another" })
	if got := live(t, r); got != "" || exists(file(home, e)) {
		t.Errorf("got %q", got)
	}
}

// A home that two machines share: the other's entries can't be judged from here.
func TestForeignHost(t *testing.T) {
	home := t.TempDir()
	now := time.Now()
	r := registry.Open(home, func() time.Time { return now })
	e := entry(start(t).ID, "a")
	mustPut(t, r, e)
	edit(t, file(home, e), func(f map[string]any) { f["host"], f["boot_id"] = "elsewhere", "another" })
	if got := live(t, r); got != "" || !exists(file(home, e)) {
		t.Errorf("got %q, kept %v", got, exists(file(home, e)))
	}
	now = now.Add(40 * 24 * time.Hour)
	if live(t, r); exists(file(home, e)) {
		t.Error("it is kept for ever")
	}
}

func TestBadFilesHideNobody(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	mustPut(t, r, entry(start(t).ID, "a"))
	dir := filepath.Join(home, "sessions")
	other := start(t)
	bad := map[string]string{
		"1.json":   "not json",
		"2.json":   `{"pid":3,"start":"1","box":"s-x"}`, // another's pid
		"4.json":   `{"pid":4}`,
		"5.json":   `{"pid":5,"start":"1","box":"../../x"}`,
		"06.json":  `{"pid":6,"start":"1","box":"s-x"}`,
		"x.json":   "{}",
		"7.json~":  "{}",
		"8.json":   strings.Repeat(" ", 1<<20),
		"note.txt": "hello",
		fmt.Sprintf(".%d.json.tmp-1-abc", other.PID): fmt.Sprintf(`{"pid":%d,"start":%q,"box":"s-x","name":"temp"}`, other.PID, other.Start),
	}
	for name, content := range bad {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(file(home, entry(start(t).ID, "a")), filepath.Join(dir, "9.json")); err != nil {
		t.Fatal(err)
	}
	if got := live(t, r); got != "a" {
		t.Errorf("got %q", got)
	}
	for name := range bad {
		if !exists(filepath.Join(dir, name)) {
			t.Errorf("%s was removed", name)
		}
	}
}

func TestUnknownFieldsAreTolerated(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	e := entry(start(t).ID, "a")
	mustPut(t, r, e)
	edit(t, file(home, e), func(f map[string]any) { f["v"], f["later"] = 9, []int{1} })
	if got := live(t, r); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestPutRefuses(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	good := entry(start(t).ID, "a")
	for _, change := range []func(*registry.Entry){
		func(e *registry.Entry) { e.PID = 0 },
		func(e *registry.Entry) { e.Start = "" },
		func(e *registry.Entry) { e.Box = "" },
		func(e *registry.Entry) { e.Box = "s-../x" },
		func(e *registry.Entry) { e.Box = "s-a/b" },
		func(e *registry.Entry) { e.Box = "no key" },
	} {
		e := good
		change(&e)
		if err := r.Put(e); !errors.Is(err, registry.ErrInvalid) {
			t.Errorf("%+v: got %v", e, err)
		}
	}
	if exists(filepath.Join(home, "sessions")) {
		t.Error("something was written")
	}
}

func TestRemoveIsForOneProcess(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	e := entry(start(t).ID, "a")
	mustPut(t, r, e)
	if err := r.Remove(e.PID, "1"); err != nil || !exists(file(home, e)) {
		t.Errorf("an earlier process's Remove: %v, kept %v", err, exists(file(home, e)))
	}
	if err := r.Remove(e.PID, e.Start); err != nil || exists(file(home, e)) {
		t.Errorf("got %v, kept %v", err, exists(file(home, e)))
	}
}

func TestOneRowPerSession(t *testing.T) {
	now := time.Unix(2000, 0)
	client, other := start(t), start(t)
	a, b := entry(start(t).ID, "a"), entry(start(t).ID, "b")
	for _, e := range []*registry.Entry{&a, &b} {
		e.Client.PID, e.Client.Start = client.PID, client.Start
		e.SessionID = "one"
	}
	b.StartedAt = a.StartedAt.Add(time.Second)
	put := func(t *testing.T, entries ...registry.Entry) string {
		r := registry.Open(t.TempDir(), func() time.Time { return now })
		mustPut(t, r, entries...)
		return live(t, r)
	}
	if got := put(t, a, b); got != "b" {
		t.Errorf("two servers of one client: got %q", got)
	}
	twice := a
	twice.Client.PID, twice.Client.Start = other.PID, other.Start
	if got := put(t, twice, b); got != "b" {
		t.Errorf("one session open in two clients: got %q", got)
	}
	unknown := b
	unknown.SessionID = ""
	if got := put(t, a, unknown); got != "a" {
		t.Errorf("a second server that does not know its session: got %q", got)
	}
	if got := put(t, a, func() registry.Entry { e := b; e.SessionID = "two"; return e }()); got != "a b" {
		t.Errorf("two sessions of one process: got %q", got)
	}
	codexA, codexB := a, unknown
	codexA.Client.Kind, codexB.Client.Kind = "codex", "codex"
	if got := put(t, codexA, codexB); got != "a b" {
		t.Errorf("two threads of Codex's daemon, one unidentified: got %q", got)
	}
}

// Many processes write, list and end at once: nobody alive is lost.
func TestConcurrentPrune(t *testing.T) {
	home := t.TempDir()
	survivor := entry(start(t).ID, "survivor")
	var doomed []*sleeper
	for range 8 {
		doomed = append(doomed, start(t))
	}
	var wg sync.WaitGroup
	for _, s := range doomed {
		wg.Go(func() {
			r := registry.Open(home, time.Now)
			for range 20 {
				if err := errors.Join(r.Put(survivor), r.Put(entry(s.ID, "doomed"))); err != nil {
					t.Error(err)
				}
				if _, err := r.Live(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range doomed {
		s.kill(t)
	}
	for range 4 {
		wg.Go(func() {
			r := registry.Open(home, time.Now)
			for range 20 {
				if _, err := r.Live(); err != nil {
					t.Error(err)
				}
				if err := r.Put(survivor); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := live(t, registry.Open(home, time.Now)); got != "survivor" {
		t.Errorf("got %q", got)
	}
}

func TestLeftovers(t *testing.T) {
	r := registry.Open(t.TempDir(), time.Now)
	server, client, gone := start(t), start(t), start(t)
	orphan := entry(server.ID, "orphan")
	orphan.Client.PID, orphan.Client.Start = client.PID, client.Start
	mustPut(t, r, entry(start(t).ID, "live"), orphan, entry(gone.ID, "dead"))
	client.kill(t)
	gone.kill(t)
	l, err := r.Leftovers()
	if err != nil || names(l.Orphans) != "orphan" || names(l.Dead) != "dead" {
		t.Errorf("got %+v, %v", l, err)
	}
}

// A listing of hundreds is shared among goroutines; none is lost or doubled.
func TestManyEntries(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	alive := entry(start(t).ID, "alive")
	mustPut(t, r, alive)
	for i := range 300 { // servers that ended long ago
		e := entry(proc.ID{PID: 1<<22 + i, Start: "1"}, fmt.Sprintf("dead-%d", i))
		mustPut(t, r, e)
	}
	if l, err := r.Leftovers(); err != nil || len(l.Dead) != 300 {
		t.Errorf("got %d dead, %v", len(l.Dead), err)
	}
	if got := live(t, r); got != "alive" {
		t.Errorf("got %q", got)
	}
	files, err := os.ReadDir(filepath.Join(home, "sessions"))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}
