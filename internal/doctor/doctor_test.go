package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"peermux/hookscripts"
	"peermux/internal/agentsim"
	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/registry"
)

func TestMain(m *testing.M) {
	if agentsim.Wanted() {
		os.Exit(agentsim.Main())
	}
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patient is somebody in good health: an empty home, no client, no tmux.
func patient(t *testing.T) Patient {
	t.Helper()
	user := t.TempDir()
	env := func(name string) string {
		return map[string]string{"HOME": user, "PATH": filepath.Join(user, "bin"), "TMUX_TMPDIR": user}[name]
	}
	t.Setenv("PATH", filepath.Join(user, "bin")) // where programs are looked up
	board, err := switchboard.Open(switchboard.Place{Home: filepath.Join(user, ".peermux"), UserHome: user, Env: env, Now: time.Now})
	check(t, err)
	t.Cleanup(board.Watch.Close)
	check(t, private.Dir(board.Home))
	hook := filepath.Join(user, "peermux-hook")
	check(t, os.WriteFile(hook, []byte("#!/bin/sh\necho peermux-hook format 1\n"), 0o700))
	client, err := hookscripts.NewEnv(env, time.Now, filepath.Join(user, "peermux"))
	check(t, err)
	return Patient{Board: board, Client: client, Now: time.Now}
}

// finds examines and returns the finding whose text holds what.
func finds(t *testing.T, p Patient, severity Severity, what string) Finding {
	t.Helper()
	all := Examine(t.Context(), p)
	for _, f := range all {
		if f.Severity == severity && strings.Contains(f.What, what) {
			return f
		}
	}
	t.Fatalf("no %s %q among %+v", severity, what, all)
	return Finding{}
}

func TestHealthy(t *testing.T) {
	p := patient(t)
	findings := Examine(t.Context(), p)
	if worst := Worst(findings); worst != Note {
		t.Errorf("worst is %s: %+v", worst, findings)
	}
}

// A session whose client is of a version that was never tried.
func TestVersionOfASession(t *testing.T) {
	p := patient(t)
	self, err := proc.Self()
	check(t, err)
	put := func(kind, version string) {
		check(t, p.Board.Registry.Put(registry.Entry{
			PID: self.PID, Start: self.Start, Client: registry.Client{Kind: kind, PID: self.PID, Start: self.Start, Version: version, Mode: registry.Interactive},
			SessionID: "11111111-2222-4333-8444-555555555555", Box: "s-x", Name: "web", CWD: "/", Project: "/", StartedAt: time.Now(), SeenAt: time.Now(), BootID: proc.BootID(),
		}))
	}
	put("claude", "3.0.0")
	f := finds(t, p, Note, "web runs claude 3.0.0")
	if f.Evidence != "tested: 2.1.197 to 2.1.328" || f.Mend == "" {
		t.Errorf("got %+v", f)
	}
	for _, c := range [][2]string{{"claude", "2.1.328"}, {"codex", "codex-cli 0.171.0"}, {"claude", ""}, {"gemini", "9.9.9"}} {
		put(c[0], c[1])
		for _, f := range Examine(t.Context(), p) {
			if strings.Contains(f.What, "was not tested") {
				t.Errorf("%v: %+v", c, f)
			}
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	for _, tt := range []struct {
		file, content string
		severity      Severity
		what, why     string
	}{
		{"wake.toml", "budget_per_hour = many", Error, "wake.toml is wrong", "wake.toml"},
		{"wake.toml", "budget = 3", Error, "wake.toml is wrong", "budget"},
		{"groups.json", "{", Error, "groups.json is damaged", "groups.json"},
		{"fleets/shop.json", "{", Warning, "what peermux up started", "shop.json"},
	} {
		p := patient(t)
		path := filepath.Join(p.Board.Home, tt.file)
		check(t, private.Dir(filepath.Dir(path)))
		check(t, os.WriteFile(path, []byte(tt.content), 0o600))
		f := finds(t, p, tt.severity, tt.what)
		if !strings.Contains(f.Evidence, tt.why) || f.Mend == "" {
			t.Errorf("%s: %+v", tt.file, f)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != tt.content {
			t.Errorf("%s was changed: %s, %v", tt.file, got, err)
		}
	}
}

// Looking tightens nothing: that is for Fix.
func TestExamineChangesNoMode(t *testing.T) {
	p := patient(t)
	for _, name := range []string{"wake.toml", "groups.json"} {
		path := filepath.Join(p.Board.Home, name)
		check(t, os.WriteFile(path, []byte("{"), 0o600))
		check(t, os.Chmod(path, 0o644))
	}
	finds(t, p, Error, "1 file is not yours alone") // wake.toml is written by hand
	finds(t, p, Error, "1 file is not yours alone")
	finds(t, p, Error, "wake.toml is wrong")
	for _, name := range []string{"wake.toml", "groups.json"} {
		info, err := os.Stat(filepath.Join(p.Board.Home, name))
		check(t, err)
		if info.Mode().Perm() != 0o644 {
			t.Errorf("%s has mode %v now", name, info.Mode())
		}
	}
}

// What Fix tightens is advised to be fixed, and what it leaves alone is not.
func TestWhatMendsAnExposedFile(t *testing.T) {
	p := patient(t)
	file := func(name string) string {
		path := filepath.Join(p.Board.Home, name)
		check(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	loose := file("loose")
	check(t, os.Chmod(loose, 0o640))
	link := filepath.Join(p.Board.Home, "link")
	check(t, os.Symlink(loose, link))
	for _, tt := range []struct {
		what, evidence, mend string
		fixable              bool
	}{
		{"1 file is not yours alone", loose + ": mode -rw-r-----", "peermux doctor --fix", true},
		{"1 symbolic link is in the home", link + ": a symbolic link", "remove the link", false},
	} {
		f := finds(t, p, Error, tt.what)
		if f.Evidence != tt.evidence || !strings.Contains(f.Mend, tt.mend) || f.Fixable != tt.fixable {
			t.Errorf("got %+v, want %+v", f, tt)
		}
	}
	_, err := Fix(p)
	check(t, err)
	for _, f := range Examine(t.Context(), p) {
		if f.Fixable {
			t.Errorf("after Fix there is still %+v", f)
		}
	}
	finds(t, p, Error, "1 symbolic link is in the home")
	check(t, os.Remove(link))
	finds(t, p, OK, "the home is yours alone")
}

// A file of somebody else is nothing that Fix could tighten.
func TestForeignFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: only root can give a file away")
	}
	p := patient(t)
	path := filepath.Join(p.Board.Home, "foreign")
	check(t, os.WriteFile(path, nil, 0o600))
	check(t, os.Chmod(path, 0o644))
	check(t, os.Chown(path, 12345, 12345))
	f := finds(t, p, Error, "1 file belongs to another user")
	if f.Evidence != path+": owned by user 12345" || !strings.Contains(f.Mend, "chown") || f.Fixable {
		t.Errorf("got %+v", f)
	}
	if done, err := Fix(p); err != nil || len(done) > 0 {
		t.Errorf("Fix did %v, %v", done, err)
	}
}

// The facts of WSL are given, since this machine is none.
func TestWSL(t *testing.T) {
	p := patient(t)
	p.WSL = true
	finds(t, p, OK, "on the Linux side")

	mixed := p
	mixed.Client.ClaudeDir = "/mnt/c/Users/me/.claude"
	check(t, os.MkdirAll(filepath.Join(p.Board.UserHome, "bin"), 0o700))
	check(t, os.WriteFile(filepath.Join(p.Board.UserHome, "bin", "claude"), []byte("#!/bin/sh\necho 2.1.328\n"), 0o700))
	finds(t, mixed, Warning, "its folder is on a Windows drive")
	mixed.WSL = false
	for _, f := range Examine(t.Context(), mixed) {
		if strings.Contains(f.What, "Windows") {
			t.Errorf("outside WSL /mnt/c is any folder: %+v", f)
		}
	}
}

// A server that hangs while its client dies: the one process that cannot end itself.
func TestOrphan(t *testing.T) {
	peermux, _, err := agentsim.Build(t.Context(), t.TempDir())
	check(t, err)
	path := os.Getenv("PATH")
	p := patient(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := agentsim.Start(ctx, agentsim.Options{
		Config: agentsim.Config{Client: "claude", Name: "web", Peermux: peermux}, Dir: t.TempDir(), Logs: t.TempDir(), Program: []string{os.Args[0]},
		Env: []string{"HOME=" + p.Board.UserHome, "PATH=" + path, "TERM=xterm-256color"},
	})
	check(t, err)
	var server registry.Entry
	for server.PID == 0 {
		live, err := p.Board.Registry.Peek()
		check(t, err)
		check(t, ctx.Err())
		for _, e := range live {
			if e.SessionID != "" {
				server = e
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Cleanup(func() {
		if proc.Alive(server.ID()) { // the test failed, and a stopped server never ends by itself
			_ = syscall.Kill(server.PID, syscall.SIGKILL) // it may have ended since
		}
	})
	check(t, syscall.Kill(server.PID, syscall.SIGSTOP))
	// A signal is sent before it is taken: a server that still runs would see its client end.
	for stopped := false; !stopped; time.Sleep(10 * time.Millisecond) {
		check(t, ctx.Err())
		info, err := proc.Stat(server.PID)
		check(t, err)
		stopped = info.State == 'T'
	}
	check(t, a.Kill())
	f := finds(t, p, Warning, "outlived its client")
	if !strings.HasPrefix(f.Mend, "kill ") {
		t.Errorf("got %+v", f)
	}
	// What mends it: a stopped process takes the signal when it goes on.
	check(t, syscall.Kill(server.PID, syscall.SIGTERM))
	check(t, syscall.Kill(server.PID, syscall.SIGCONT))
	for proc.Alive(server.ID()) {
		check(t, ctx.Err())
		time.Sleep(10 * time.Millisecond)
	}
	for _, f := range Examine(t.Context(), p) {
		if strings.Contains(f.What, "outlived") {
			t.Errorf("still there: %+v", f)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, tt := range []struct {
		severities []Severity
		want       Severity
	}{
		{nil, OK}, {[]Severity{OK, Note}, Note}, {[]Severity{Error, OK, Warning}, Error}, {[]Severity{Note, Warning, OK}, Warning},
	} {
		var findings []Finding
		for _, s := range tt.severities {
			findings = append(findings, Finding{Severity: s})
		}
		if got := Worst(findings); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.severities, got, tt.want)
		}
	}
}

// The hooks of an earlier installation are one finding, with what mends them.
func TestHooksOfAnEarlierVersion(t *testing.T) {
	p := patient(t)
	bin := filepath.Join(p.Board.UserHome, "bin")
	check(t, os.MkdirAll(filepath.Join(p.Board.UserHome, ".claude"), 0o700))
	check(t, os.MkdirAll(bin, 0o700))
	check(t, os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\necho 2.1.328\n"), 0o700))
	hook := func(event string) string {
		return fmt.Sprintf(`%q: [{"hooks": [{"type": "command", "command": "exec /old/peermux-hook claude %s"}]}]`, event, event)
	}
	settings := filepath.Join(p.Board.UserHome, ".claude", "settings.json")
	for text, what := range map[string]string{
		hook("Stop"):                            "a hook is not the one that would be installed now",
		hook("Stop") + "," + hook("PreToolUse"): "2 hooks are not those that would be installed now",
	} {
		check(t, os.WriteFile(settings, []byte(`{"hooks": {`+text+`}}`), 0o600))
		f := finds(t, p, Warning, "would be installed now")
		if f.What != what || !strings.Contains(f.Evidence, "exec /old/peermux-hook claude ") || f.Mend != "peermux setup --client claude" {
			t.Errorf("got %+v, want %s", f, what)
		}
	}
}

// With the plugin as well, setup would not mend what is there twice: one of the two has to go.
func TestPluginAndSetup(t *testing.T) {
	p := patient(t)
	bin := filepath.Join(p.Board.UserHome, "bin")
	check(t, os.MkdirAll(filepath.Join(p.Board.UserHome, ".claude"), 0o700))
	check(t, os.MkdirAll(bin, 0o700))
	check(t, os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\necho 2.1.328\n"), 0o700))
	settings := filepath.Join(p.Board.UserHome, ".claude", "settings.json")
	text := `{"enabledPlugins": {"peermux@peermux": true}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "exec /old/peermux-hook claude Stop"}]}]}}`
	check(t, os.WriteFile(settings, []byte(`{"enabledPlugins": {"peermux@peermux": true}}`), 0o600))
	if f := finds(t, p, OK, "hooks and MCP server are set up"); f.Evidence != "the plugin is enabled" {
		t.Errorf("got %+v", f)
	}
	check(t, os.WriteFile(settings, []byte(text), 0o600))
	f := finds(t, p, Warning, "hooks are there twice, by setup and by the plugin")
	if f.Evidence != settings || !strings.HasPrefix(f.Mend, "keep one of the two: peermux setup --remove --client claude") {
		t.Errorf("got %+v", f)
	}
}
