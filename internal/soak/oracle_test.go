package main

import (
	"os"
	"slices"
	"testing"
)

// TestOracle has logs that tell of every kind of broken promise.
func TestOracle(t *testing.T) {
	f := &fleet{plan: plan{dir: t.TempDir(), sessions: 3}}
	for name, log := range map[string]string{
		"w00": "born 1\nack A w01\nack B w01\nack C w01\nack D w02\nack E *\nack F w01\nack G w01\nhealth 9 9 9\nhealth 99 9 9\n",
		// A is in order; B is shown again after a kill, C without one; F is for it, and
		// was listed as open work; G is lost, and E reached only this one.
		"w01": "born 2\nout A\nrec A\nout B\nborn 3\nout B\nrec B\nout C\nrec C\nout C\nrec C\nsaw F\nout E\nrec E\nfail read: broken\n",
		"w02": "born 4\nrefused peer_gone\n",
	} {
		for path, text := range map[string]string{f.plan.log(name): log, f.plan.log(name) + ".err": ""} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	var v verdict
	if err := f.judgeLogs(&v); err != nil {
		t.Fatal(err)
	}
	slices.Sort(v.lost)
	for _, check := range []struct {
		what      string
		got, want []string
	}{
		{"lost", v.lost, []string{"D from w00 to w02", "G from w00 to w01", "broadcast E from w00 to w02"}},
		{"wrong", v.wrong, []string{"C was shown to w01 2 times, 0 of them by a process that was killed before it recorded that"}},
		{"failed", v.failed, []string{"w01: read: broken"}},
		{"leaked", v.leaked, []string{"w00 grew by 90 descriptors, 0 goroutines, 0 KiB"}},
	} {
		if !slices.Equal(check.got, check.want) {
			t.Errorf("%s: %q, want %q", check.what, check.got, check.want)
		}
	}
	if v.sent != 6 || v.broadcasts != 1 || v.twice != 2 || v.shown != 5 || v.refused["peer_gone"] != 1 || v.good() {
		t.Errorf("verdict %+v", v)
	}
}
