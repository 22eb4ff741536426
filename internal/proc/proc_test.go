package proc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// run starts a program and ends it with the test.
func run(t *testing.T, cmd *exec.Cmd) Info {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, cmd) })
	info, err := Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func end(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.ProcessState != nil {
		return
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestSelf(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if self.PID != os.Getpid() || self.PPID != os.Getppid() || self.PGrp != syscall.Getpgrp() || self.Start == "" {
		t.Errorf("got %+v", self)
	}
	if !Alive(self.ID) {
		t.Error("the test itself counts as dead")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := Exe(self.PID); got != exe {
		t.Errorf("got exe %q, want %q", got, exe)
	}
	if got := Args(self.PID); !slices.Equal(got, os.Args) {
		t.Errorf("got args %q, want %q", got, os.Args)
	}
	if BootID() == "" {
		t.Error("no boot id")
	}
}

func TestChild(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	cmd.Dir = dir
	cmd.Env = []string{"ONE=1", "ONELONGER=3", "EMPTY=", "LINES=a\nb"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	before := time.Now()
	info := run(t, cmd)
	if info.PPID != os.Getpid() || info.Session != info.PID || info.PGrp != info.PID || info.TTY != 0 || info.TPGID != -1 {
		t.Errorf("got %+v", info)
	}
	until(t, "the program to run", func() bool { return filepath.Base(Exe(info.PID)) != filepath.Base(os.Args[0]) })
	if got := CWD(info.PID); got != dir {
		t.Errorf("got directory %q, want %q", got, dir)
	}
	if got := Args(info.PID); !slices.Equal(got, []string{"sleep", "600"}) {
		t.Errorf("got args %q", got)
	}
	env := Env(info.PID, "ONE", "EMPTY", "LINES", "MISSING")
	if len(env) != 3 || env["ONE"] != "1" || env["LINES"] != "a\nb" {
		t.Errorf("got %q", env)
	}
	started, ok := info.StartedAt(time.Now())
	if !ok || started.Sub(before).Abs() > time.Second {
		t.Errorf("started at %v, want about %v", started, before)
	}
}

func TestPick(t *testing.T) {
	// A variable that is set twice has its first value, as for getenv(3).
	got := pick([]string{"A=1", "A=2", "AB=3", "=x", "A", ""}, []string{"A", "B"})
	if len(got) != 1 || got["A"] != "1" {
		t.Errorf("got %q", got)
	}
}

func TestAlive(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	info := run(t, cmd)
	for _, id := range []ID{
		{PID: info.PID, Start: info.Start + "1"}, // another process had the pid
		{PID: info.PID},
		{PID: 0, Start: info.Start},
		{PID: -1, Start: info.Start},
		{PID: 1 << 30, Start: info.Start},
	} {
		if Alive(id) {
			t.Errorf("%+v counts as alive", id)
		}
	}
	if !Alive(info.ID) {
		t.Error("a running process counts as dead")
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "the stop", func() bool { i, err := Stat(info.PID); return err == nil && i.State == 'T' })
	if !Alive(info.ID) {
		t.Error("a stopped process counts as dead")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the zombie", func() bool { i, err := Stat(info.PID); return err == nil && i.Zombie() })
	if Alive(info.ID) {
		t.Error("a zombie counts as alive")
	}
	end(t, cmd)
	if _, err := Stat(info.PID); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
	if Alive(info.ID) {
		t.Error("a process that is gone counts as alive")
	}
}

// A shell, a shell in it, and a program in that.
func TestAncestors(t *testing.T) {
	cmd := exec.Command("sh", "-c", `sh -c 'sleep 600 & echo $!; wait'; :`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell := run(t, cmd)
	t.Cleanup(func() {
		if err := syscall.Kill(-shell.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	chain, err := Ancestors(sleep)
	if err != nil || len(chain) < 3 || chain[1].PID != shell.PID || chain[2].PID != os.Getpid() {
		t.Fatalf("got %+v, %v", chain, err)
	}
	for i, a := range chain[1:] {
		if Later(a.ID, chain[i].ID) {
			t.Errorf("the parent %+v is younger than %+v", a, chain[i])
		}
	}
	if _, err := Ancestors(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
}

func TestChainIsCutAtStrangers(t *testing.T) {
	procs := map[int]Info{
		3: {ID: ID{3, startToken(30)}, PPID: 1},
		4: {ID: ID{4, startToken(99)}, PPID: 3}, // has the pid of 5's dead parent
		5: {ID: ID{5, startToken(50)}, PPID: 4},
		6: {ID: ID{6, startToken(60)}, PPID: 6}, // a ring
		7: {ID: ID{7, startToken(70)}, PPID: 8},
	}
	stat := func(pid int) (Info, error) {
		i, ok := procs[pid]
		if !ok {
			return Info{}, ErrGone
		}
		return i, nil
	}
	for pid, want := range map[int]int{3: 0, 4: 1, 5: 0, 6: maxDepth, 7: 0} {
		if got := Chain(procs[pid], stat); len(got) != want {
			t.Errorf("%d: got %d ancestors, want %d", pid, len(got), want)
		}
	}
}

func TestTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	cmd := exec.Command("sleep", "600")
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	info := run(t, cmd)
	tty, err := TTYDevice(slave.Name())
	if err != nil || tty == 0 || info.TTY != tty {
		t.Errorf("the process has terminal %d, %s is %d, %v", info.TTY, slave.Name(), tty, err)
	}
	if info.TPGID != info.PID {
		t.Errorf("got foreground group %d, want %d", info.TPGID, info.PID)
	}
	for _, name := range []string{"/dev/none", os.Args[0], t.TempDir()} {
		if n, err := TTYDevice(name); err == nil {
			t.Errorf("%s: got %d", name, n)
		}
	}
}

func TestFiles(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name, err := filepath.EvalSymlinks(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		return // macOS does not tell
	}
	if err != nil || !slices.Contains(files, name) {
		t.Errorf("got %q, %v", files, err)
	}
	if _, err := Files(1 << 30); err == nil {
		t.Error("a process that is not there has files")
	}
}

func FuzzParseProcArgs(f *testing.F) {
	seed := func(argc uint32, rest string) {
		f.Add(append(binary.LittleEndian.AppendUint32(nil, argc), rest...))
	}
	seed(2, "/bin/x\x00\x00\x00x\x00-a\x00HOME=/h\x00\x00junk")
	seed(1, "/bin/x\x00x\x00")
	seed(1<<31, "/bin/x\x00")
	seed(3, "/bin/x")
	f.Fuzz(func(t *testing.T, data []byte) {
		p, ok := parseProcArgs(data)
		if ok && slices.Contains(p.environ, "") {
			t.Errorf("got environment %q", p.environ)
		}
	})
}

func TestParseProcArgs(t *testing.T) {
	data := binary.LittleEndian.AppendUint32(nil, 3)
	data = append(data, "/usr/bin/node\x00\x00\x00\x00node\x00\x00claude\x00HOME=/h\x00A=b=c\x00\x00ptr_munge=\x00"...)
	p, ok := parseProcArgs(data)
	if !ok || p.exe != "/usr/bin/node" || !slices.Equal(p.args, []string{"node", "", "claude"}) || !slices.Equal(p.environ, []string{"HOME=/h", "A=b=c"}) {
		t.Errorf("got %+v, %v", p, ok)
	}
}

func BenchmarkAlive(b *testing.B) {
	self, err := Self()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !Alive(self.ID) {
			b.Fatal("dead")
		}
	}
}
