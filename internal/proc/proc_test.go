package proc

import (
	"os"
	"testing"
)

func TestSelfIsAlive(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if self.PID != os.Getpid() || self.PPID != os.Getppid() || self.Start == "" {
		t.Errorf("got %+v", self)
	}
	if !Alive(self.ID) {
		t.Error("the test itself counts as dead")
	}
	other := self.ID
	other.Start += "1"
	if Alive(other) {
		t.Error("a process with another start time counts as alive")
	}
}
