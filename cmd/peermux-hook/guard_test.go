package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// build compiles the program as a release does.
func build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "peermux-hook")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// TestLinksLittle keeps out whatever costs time at every start of the program,
// and whatever could start a process or open a connection.
func TestLinksLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{
		"golang.org/x/sys/unix": true, "peermux/cmd/peermux-hook": true, "peermux/hookscripts/hookrun": true,
		"peermux/mailbox": true, "peermux/registry": true, "peermux/internal/frame": true, "peermux/internal/private": true,
		"peermux/internal/proc": true, "peermux/internal/project": true, "peermux/internal/program": true, "peermux/internal/origin": true,
	}
	banned := regexp.MustCompile(`^(net|net/.*|os/exec|os/user|regexp|log|log/.*|text/template|html/.*|go/.*|testing|flag|os/signal|plugin|embed|compress/.*|crypto/tls|crypto/x509)$`)
	for dep := range strings.FieldsSeq(string(out)) {
		first, _, _ := strings.Cut(dep, "/")
		ours := first == "peermux" || strings.Contains(first, ".")
		if ours && !allowed[dep] || banned.MatchString(dep) {
			t.Errorf("the hook program links %s", dep)
		}
	}
}

// TestStartsQuickly adds up what the packages allocate before main: whatever takes
// time there, such as a table or a pattern that is built, takes memory too, and that
// does not depend on how busy the machine is.
func TestStartsQuickly(t *testing.T) {
	cmd := exec.Command(build(t), "claude", "NoSuchEvent")
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^init .* clock, ([0-9]+) bytes, ([0-9]+) allocs`).FindAllStringSubmatch(stderr.String(), -1)
	if len(lines) == 0 {
		t.Fatalf("no init trace: %s", stderr.String())
	}
	var size, allocs int
	for _, line := range lines {
		for i, sum := range []*int{&size, &allocs} {
			n, err := strconv.Atoi(line[i+1])
			if err != nil {
				t.Fatal(err)
			}
			*sum += n
		}
	}
	const mostBytes, mostAllocs = 8 << 10, 80 // 5 KiB and 52 with Go 1.26
	if size > mostBytes || allocs > mostAllocs {
		t.Errorf("package initialisation takes %d bytes in %d allocations, want at most %d in %d:\n%s", size, allocs, mostBytes, mostAllocs, stderr.String())
	}
}
