package switchboard_test

import (
	"slices"
	"strings"
	"testing"
)

// What is counted has the name that a person knows, and the exact one where that
// name is another box's too.
func TestCountNames(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	one, two := k.repository("one/lib"), k.repository("two/lib")
	for _, target := range []string{"ben", "user", "repo:" + one} {
		ann.mustSend(target, "hello")
	}
	names := func(exclude string) []string {
		t.Helper()
		res, err := k.board.Count(t.Context(), exclude)
		if err != nil || res.Unshown != len(res.Boxes) {
			t.Fatalf("%+v, %v", res, err)
		}
		var list []string
		for _, row := range res.Boxes {
			if !strings.Contains(row.Box, "-") {
				t.Errorf("box %q is no key", row.Box)
			}
			list = append(list, row.Name)
		}
		slices.Sort(list)
		return list
	}
	if got, want := names(""), []string{"ben", "repo:lib", "user"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := names("repo:lib"), []string{"ben", "user"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	ann.mustSend("repo:"+two, "hello")
	kill(t, ben.client) // its mail waits, under the name it had
	kill(t, ben.server)
	if got, want := names(""), []string{"ben", "repo:" + one, "repo:" + two, "user"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
