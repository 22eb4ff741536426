package hookscripts

import (
	"strings"
	"testing"

	"peermux/hookscripts/hookrun"
)

func TestInstalledEventsAreActedOn(t *testing.T) {
	t.Parallel()
	for _, client := range Clients() {
		e := newWorld(t).Env
		hooks, err := e.hooks(client)
		if err != nil || len(hooks) < 8 {
			t.Fatalf("%s: %d hooks, %v", client, len(hooks), err)
		}
		for _, h := range hooks {
			if !hookrun.Handles(client, h.event) {
				t.Errorf("%s: %s is installed and does nothing", client, h.event)
			}
			if !strings.HasSuffix(h.command, "/peermux-hook' "+client+" "+h.event) {
				t.Errorf("%s: %s runs %s", client, h.event, h.command)
			}
		}
	}
}
