package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The names are what Claude Code 2.1.197 and 2.1.328 made of these directories.
func TestEncodeClaude(t *testing.T) {
	long := "/tmp/parser/" + strings.Repeat("abcdefghij", 12) + "/" + strings.Repeat("Klmnop_qr.", 9) + "/üñí日本"
	for _, tt := range []struct{ path, want string }{
		{"/home/dev/a.b c_d-e", "-home-dev-a-b-c-d-e"},
		{"/srv/üñí/日本", "-srv-------"},
		{"/srv/UPPER@x+y", "-srv-UPPER-x-y"},
		{"/srv/😀", "-srv---"}, // two UTF-16 units
		{long, "-tmp-parser-" + strings.Repeat("abcdefghij", 12) + "-" + strings.Repeat("Klmnop-qr-", 9)[:67] + "-vpf6i5"},
	} {
		if got := encodeClaude(tt.path); got != tt.want {
			t.Errorf("encodeClaude(%q)\n got %s\nwant %s", tt.path, got, tt.want)
		}
	}
}

func TestClaudePathFollowsLinks(t *testing.T) {
	dir := realTempDir(t)
	real := filepath.Join(dir, "real.dir")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join("/c/projects", encodeClaude(real), "id.jsonl")
	if got := ClaudePath("/c", link, "id"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCodexPath(t *testing.T) {
	const (
		thread  = "01a22c3a-79f8-7611-ab5b-377b9c4b5195"
		segment = "01a22c3a-c107-7ed2-a5f1-6efbc85582c7"
		later   = "01a26f00-c107-7ed2-a5f1-6efbc85582c7"
		old     = "9e4c681b-78e9-4438-b3d4-3d027ffeb9b3" // version 4
	)
	home := t.TempDir()
	write := func(day, name string) string {
		file := filepath.Join(home, day, name+".jsonl")
		writeFile(t, file, "{}\n")
		return file
	}
	first := write("sessions/2026/11/30", "rollout-2026-11-30T11-32-39-"+thread)
	write("sessions/2026/11/30", "rollout-2026-11-30T11-32-40-01a22c3a-7a00-7611-ab5b-377b9c4b5195")
	oldFile := write("sessions/2025/08/01", "rollout-2025-08-01T11-32-39-"+old)
	archived := write("archived_sessions", "rollout-2026-11-30T11-32-39-01a22c3a-0000-7611-ab5b-377b9c4b5195")

	check := func(what, id, want string) {
		t.Helper()
		if got, ok := CodexPath(home, id); got != want || ok != (want != "") {
			t.Errorf("%s: CodexPath(%s) = %q, %v; want %q", what, id, got, ok, want)
		}
	}
	check("the only file", thread, first)
	check("an id without a time", old, oldFile)
	check("archived", "01a22c3a-0000-7611-ab5b-377b9c4b5195", archived)
	check("unknown", "01a22c3a-79f8-7611-ab5b-000000000000", "")
	check("not an id", "../../etc/passwd", "")
	check("empty", "", "")
	second := write("sessions/2026/11/30", "rollout-2026-11-30T11-32-57-"+thread+"_"+segment)
	check("went back on the same day", thread, second)
	third := write("sessions/2026/12/13", "rollout-2026-12-13T09-00-00-"+thread+"_"+later)
	check("went back two weeks later", thread, third)
	if got, ok := codexBase(home, segment); !ok || got != second {
		t.Errorf("codexBase(segment) = %q, %v; want %q", got, ok, second)
	}
	if got, ok := codexBase(home, thread); !ok || got != first {
		t.Errorf("codexBase(thread) = %q, %v; want the first file %q", got, ok, first)
	}
}

func TestBirthTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	writeFile(t, file, "x")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	born, ok := BirthTime(file)
	if ok && (born.After(info.ModTime()) || info.ModTime().Sub(born).Seconds() > 5) {
		t.Errorf("born %v, modified %v", born, info.ModTime())
	}
	if _, ok := BirthTime(file + "-absent"); ok {
		t.Error("a file that is not there has a birth time")
	}
}
