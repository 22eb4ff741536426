package ps

import (
	"os"
	"os/exec"
	"testing"

	"github.com/shirou/gopsutil/v3/process"

	"peermux/internal/proc"
)

func child(t *testing.T) proc.Info {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		cmd.Wait() // reaped; that it was killed is no news
	})
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestChildren(t *testing.T) {
	want := map[proc.ID]bool{child(t).ID: true, child(t).ID: true}
	children, err := Children(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		delete(want, c.ID)
	}
	if len(want) > 0 {
		t.Errorf("missing %v in %v", want, children)
	}
}

func TestAll(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.PID == os.Getpid() {
			return
		}
	}
	t.Error("the test itself is not in the list")
}

// gopsutil as an oracle for our own reads.
func TestAgainstGopsutil(t *testing.T) {
	info := child(t)
	p, err := process.NewProcess(int32(info.PID))
	if err != nil {
		t.Fatal(err)
	}
	ppid, err := p.Ppid()
	if err != nil || int(ppid) != info.PPID {
		t.Errorf("ppid: got %d, gopsutil says %d, %v", info.PPID, ppid, err)
	}
	exe, err := p.Exe()
	if err != nil || proc.Exe(info.PID) != exe {
		t.Errorf("exe: got %q, gopsutil says %q, %v", proc.Exe(info.PID), exe, err)
	}
}
