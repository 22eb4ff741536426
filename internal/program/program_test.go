package program

import "testing"

func TestRecognise(t *testing.T) {
	tests := []struct {
		name, exe string
		args      []string
		want      Program
	}{
		{"claude from npm", "/x/claude-code/bin/claude.exe", []string{"claude"}, Program{Claude, Terminal, false}},
		{"claude's native installer", "/h/.local/share/claude/versions/2.1.34", []string{"claude", "-p", "x"}, Program{Claude, Exec, false}},
		{"claude, older npm", "/usr/bin/node", []string{"node", "/x/node_modules/@anthropic-ai/claude-code/cli.js", "--print"}, Program{Claude, Exec, true}},
		{"claude as a shell script", "/usr/bin/bash", []string{"bash", "/usr/local/bin/claude", "--resume"}, Program{Claude, Terminal, true}},
		{"claude, renamed process", "/usr/bin/node", []string{"claude"}, Program{Claude, Terminal, true}},
		{"claude from nix", "/nix/store/x-claude-code/bin/.claude-wrapped", []string{"claude"}, Program{Claude, Terminal, false}},
		{"codex", "/x/vendor/codex/codex", []string{"codex", "--no-daemon"}, Program{Codex, Terminal, false}},
		{"codex release", "/x/codex-x86_64-unknown-linux-musl", nil, Program{Codex, Terminal, false}},
		{"codex launcher", "/usr/bin/node", []string{"node", "/usr/bin/codex"}, Program{Codex, Terminal, true}},
		{"codex exec", "/x/codex", []string{"codex", "-m", "gpt", "exec", "prompt"}, Program{Codex, Exec, false}},
		{"codex daemon", "/x/codex", []string{"codex", "app-server", "--listen", "unix://", "--managed-daemon"}, Program{Codex, Daemon, false}},
		{"codex in an editor", "/x/codex", []string{"codex", "app-server"}, Program{Codex, Embedded, false}},
		{"codex update loop", "/x/codex", []string{"codex", "app-server", "daemon", "pid-update-loop"}, Program{Codex, Helper, false}},
		{"a shell that runs claude", "/usr/bin/bash", []string{"bash", "-c", "claude --help"}, Program{}},
		{"a login shell", "/usr/bin/bash", []string{"-bash"}, Program{}},
		{"an editor", "/usr/bin/vim", []string{"vim", "claude"}, Program{}},
		{"something in claude's folder", "/h/.claude/local/other", []string{"other"}, Program{}},
		{"another program named after codex", "/usr/bin/codex-lint", []string{"codex-lint"}, Program{}},
		{"our hook", "/x/peermux-hook", []string{"/x/peermux-hook", "claude", "Stop"}, Program{}},
		{"nothing known", "", nil, Program{}},
	}
	for _, tt := range tests {
		if got := Recognise(tt.exe, tt.args); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
