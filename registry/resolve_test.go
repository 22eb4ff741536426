package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// peers is a machine with two projects. The asker is "me", in /p.
func peers() []Entry {
	e := func(pid int, name, id, kind, project, pane, tmuxSession string) Entry {
		e := Entry{PID: pid, Start: "1", Name: name, SessionID: id, Box: "s-" + name, Project: project,
			Client: Client{Kind: kind, PID: pid + 1000, Start: "1", Mode: Interactive}}
		if pane != "" {
			e.Tmux = &Tmux{Socket: "/s", Pane: pane, Session: tmuxSession}
		}
		return e
	}
	headless := e(8, "batch", "88888888-run", "codex", "/p", "", "")
	headless.Client.Mode = Headless
	nobody := e(9, "fresh", "", "gemini", "/p", "", "")
	group := e(12, "friend", "cccccccc-friend", "codex", "/r", "", "")
	group.Group = "crew"
	return []Entry{
		e(1, "me", "11111111-me", "claude", "/p", "%0", "main"),
		e(2, "agent-1", "22222222-aaaa", "claude", "/p", "%1", "work"),
		e(3, "agent-10", "22222222-bbbb", "claude", "/p", "%2", "work"),
		e(4, "writer", "44444444-cccc", "codex", "/p", "%3", "main"),
		headless, nobody,
		e(10, "secret", "aaaaaaaa-secret", "claude", "/q", "%9", "vault"),
		e(11, "agent-2", "bbbbbbbb-other", "claude", "/q", "%1", "vault2"),
		group,
	}
}

func TestResolve(t *testing.T) {
	inProject := Reach{Project: "/p", Self: "11111111-me", SelfPID: 1}
	inGroup := inProject
	inGroup.Group = "crew"
	machine := inProject
	machine.Machine = true
	tests := []struct {
		target string
		reach  Reach
		want   string // the name, or an error code
	}{
		{"agent-1", inProject, "agent-1"},
		{"agent-10", inProject, "agent-10"},
		{" agent-1 ", inProject, "agent-1"},
		{"agent", inProject, UnknownTarget},
		{"Agent-1", inProject, UnknownTarget},
		{"22222222-aaaa", inProject, "agent-1"},
		{"22222222-a", inProject, "agent-1"},
		{"22222222", inProject, AmbiguousTarget},
		{"44444", inProject, UnknownTarget}, // five characters
		{"444444", inProject, "writer"},
		{"%1", inProject, "agent-1"},
		{"%1", machine, AmbiguousTarget}, // two tmux servers
		{"%7", inProject, UnknownTarget},
		{"%", inProject, UnknownTarget},
		{"pid:2", inProject, "agent-1"},
		{"pid:1002", inProject, "agent-1"},
		{"pid:9", inProject, "fresh"},
		{"pid:99", inProject, UnknownTarget},
		{"pid:x", inProject, UnknownTarget},
		{"work", inProject, AmbiguousTarget}, // a tmux session with two agents
		{"main", inProject, "writer"},        // one besides the asker
		{"claude", inProject, AmbiguousTarget},
		{"codex", inProject, "writer"}, // the headless run does not count
		{"gemini", inProject, "fresh"},
		{"batch", inProject, "batch"}, // by name it can be answered
		{"fresh", inProject, "fresh"},

		{"me", inProject, SelfTarget},
		{"11111111-me", inProject, SelfTarget},
		{"111111", inProject, SelfTarget},
		{"%0", inProject, SelfTarget},
		{"pid:1001", inProject, SelfTarget},

		{"secret", inProject, OutOfScope},
		{"aaaaaaaa-secret", inProject, OutOfScope},
		{"aaaaaa", inProject, OutOfScope},
		{"%9", inProject, OutOfScope},
		{"pid:10", inProject, OutOfScope},
		{"vault", inProject, UnknownTarget}, // who is where is not told
		{"secret", machine, "secret"},
		{"vault", machine, "secret"},
		{"friend", inProject, OutOfScope},
		{"friend", inGroup, "friend"},
		{"codex", inGroup, AmbiguousTarget},

		{"", inProject, BadRequest},
		{"  ", inProject, BadRequest},
		{"user", inProject, "user"},
		{"user:anna", inProject, "anna"},
		{"user:", inProject, BadRequest},
		{"app:ci", inProject, "ci"},
		{"app:", inProject, BadRequest},
		{"repo:lib", inProject, "lib"},
		{"repo:", inProject, BadRequest},
		{"repo:a/b", inProject, BadRequest},
		{"nobody:x", inProject, UnknownTarget},
	}
	for _, tt := range tests {
		got, err := Resolve(tt.target, tt.reach, peers(), ResolveOptions{})
		result := got.Name
		if te, ok := errors.AsType[*TargetError](err); ok {
			result = te.Code
		}
		if result != tt.want {
			t.Errorf("%q: got %q (%v), want %q", tt.target, result, err, tt.want)
		}
	}
}

func TestResolveKinds(t *testing.T) {
	reach := Reach{Project: "/p"}
	for target, want := range map[string]Target{
		"user":       {Kind: ToUser, Name: "user"},
		"user:anna":  {Kind: ToUser, Name: "anna"},
		"app:ci":     {Kind: ToApp, Name: "ci"},
		"repo:/a/b":  {Kind: ToRepo, Path: "/a/b"},
		"repo:lib":   {Kind: ToRepo, Name: "lib", Path: "/src/lib"},
		"repo:fresh": {Kind: ToRepo, Name: "fresh"},
	} {
		got, err := Resolve(target, reach, peers(), ResolveOptions{Repos: func(name string) []string {
			if name == "lib" {
				return []string{"/src/lib", "/src/lib"}
			}
			return nil
		}})
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", target, got, err)
		}
	}
	_, err := Resolve("repo:lib", reach, nil, ResolveOptions{Repos: func(string) []string { return []string{"/b/lib", "/a/lib"} }})
	te, ok := errors.AsType[*TargetError](err)
	if !ok || te.Code != AmbiguousTarget || len(te.Candidates) != 2 || te.Candidates[0].Target != "repo:/a/lib" {
		t.Errorf("two repositories of one name: got %+v", err)
	}
}

// What an error offers can be used as a target.
func TestCandidatesResolve(t *testing.T) {
	reach := Reach{Project: "/p", Self: "11111111-me"}
	all := peers()
	all = append(all, Entry{PID: 20, Name: "fresh", Client: Client{Kind: "gemini"}, Project: "/p", Box: "p-20-1"})
	for _, target := range []string{"22222222", "work", "claude", "fresh", "gemini"} {
		_, err := Resolve(target, reach, all, ResolveOptions{})
		te, ok := errors.AsType[*TargetError](err)
		if !ok || te.Code != AmbiguousTarget || len(te.Candidates) != 2 {
			t.Fatalf("%s: got %v", target, err)
		}
		for _, c := range te.Candidates {
			if !strings.Contains(te.Message, c.Target) {
				t.Errorf("%s: the message does not name %q: %s", target, c.Target, te.Message)
			}
			got, err := Resolve(c.Target, reach, all, ResolveOptions{})
			if err != nil || got.Entry.SessionID != c.SessionID || got.Name != c.Name {
				t.Errorf("%s: candidate %q gives %+v, %v", target, c.Target, got, err)
			}
		}
	}
}

func TestOutOfScopeRevealsNothing(t *testing.T) {
	for _, target := range []string{"secret", "aaaaaa", "secre", "sekret", "vault"} {
		_, err := Resolve(target, Reach{Project: "/p"}, peers(), ResolveOptions{})
		te, ok := errors.AsType[*TargetError](err)
		if !ok {
			t.Fatalf("%s: got %v", target, err)
		}
		said := strings.ReplaceAll(te.Message, target, "") + strings.Join(te.Near, " ")
		for _, secret := range []string{"secret", "/q", "%9", "aaaaaaaa", "vault"} {
			if strings.Contains(said, secret) {
				t.Errorf("%s: says %q: %s", target, secret, said)
			}
		}
		if len(te.Candidates) > 0 {
			t.Errorf("%s: names %+v", target, te.Candidates)
		}
	}
}

func TestNear(t *testing.T) {
	tests := []struct {
		target string
		want   []string
	}{
		{"writr", []string{"writer"}},
		{"wirter", []string{"writer"}},
		{"agent", []string{"agent-1", "agent-10"}},
		{"WRITER", []string{"writer"}},
		{"entirely-different", nil},
	}
	for _, tt := range tests {
		_, err := Resolve(tt.target, Reach{Project: "/p", Self: "11111111-me"}, peers(), ResolveOptions{})
		te, ok := errors.AsType[*TargetError](err)
		if !ok || te.Code != UnknownTarget || !slices.Equal(te.Near, tt.want) {
			t.Errorf("%s: got %+v, want %v", tt.target, err, tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1},
		{"kitten", "sitting", 3}, {"agent-1", "agent-10", 1}, {"müller", "muller", 1},
	}
	for _, tt := range tests {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q %q: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if distance(tt.a, tt.b) != distance(tt.b, tt.a) {
			t.Errorf("%q %q: not symmetric", tt.a, tt.b)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"agent-1", "%1", "pid:2", "repo:/x", "user:", "2222222", "a\x00b", "::", "claude"} {
		f.Add(s)
	}
	all := peers()
	reach := Reach{Project: "/p", Self: "11111111-me", SelfPID: 1}
	f.Fuzz(func(t *testing.T, target string) {
		got, err := Resolve(target, reach, all, ResolveOptions{})
		if err != nil {
			if _, ok := errors.AsType[*TargetError](err); !ok {
				t.Errorf("got %T", err)
			}
			return
		}
		if got.Kind == ToSession && (got.Entry == nil || !reach.Includes(*got.Entry) || reach.IsSelf(*got.Entry)) {
			t.Errorf("%q reaches %+v", target, got.Entry)
		}
	})
}

func TestUniqueName(t *testing.T) {
	taken := []Entry{
		{PID: 1, Name: "api", SessionID: "one"},
		{PID: 2, Name: "api-2", SessionID: "two"},
		{PID: 3, Name: "api", SessionID: "one"}, // another server of session one
	}
	tests := []struct {
		want string
		self int
		got  string
	}{
		{"web", 9, "web"},
		{"api", 9, "api-3"},
		{"API", 9, "API-3"},
		{"api", 1, "api"}, // it has the name already
		{"api", 3, "api"},
		{"api", 2, "api-2"},
		{"my project!", 9, "my-project"},
		{"  spaced\tout\n", 9, "spaced-out"},
		{"%3", 9, "3"},
		{"repo:x", 9, "repo-x"},
		{"user", 9, "user-2"},
		{"Größe_1.2", 9, "Größe_1.2"},
		{"", 9, "session"},
		{"///", 9, "session"},
		{"\x1b[31mred", 9, "31mred"},
		{"one (Branch)", 9, "one-Branch"},
		{strings.Repeat("long", 20), 9, strings.Repeat("long", 8)},
	}
	for _, tt := range tests {
		if got := UniqueName(tt.want, taken, tt.self); got != tt.got {
			t.Errorf("%q for pid %d: got %q, want %q", tt.want, tt.self, got, tt.got)
		}
	}
}

func TestPreferredName(t *testing.T) {
	tests := []struct {
		clientName string
		entry      Entry
		want       string
	}{
		{"app-2c", Entry{Tmux: &Tmux{Window: "w"}, Project: "/p"}, "app-2c"},
		{"", Entry{Tmux: &Tmux{Window: "editor", Session: "main"}, Project: "/p"}, "editor"},
		{"", Entry{Tmux: &Tmux{Window: "claude", Session: "main"}, Project: "/p"}, "main"},
		{"", Entry{Tmux: &Tmux{Window: "2.1.34", Session: "0"}, Project: "/src/app"}, "app"},
		{"", Entry{Project: "/src/app"}, "app"},
		{"", Entry{Project: "/", Client: Client{Kind: "codex"}}, "codex"},
	}
	for _, tt := range tests {
		if got := PreferredName(tt.clientName, tt.entry); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.entry, got, tt.want)
		}
	}
}
