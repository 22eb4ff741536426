package hookscripts

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// installing is the variable that makes this test program, started again,
// install and uninstall in a home until it is killed.
const installing = "PEERMUX_TEST_INSTALL"

// installForEver works in the home that the environment names.
func installForEver() {
	e, err := NewEnv(os.Getenv, time.Now, os.Getenv(installing))
	for err == nil {
		if _, err = Install(context.Background(), e, both()); err == nil {
			_, err = Uninstall(context.Background(), e, both())
		}
	}
	panic(err)
}

// An installer that is killed leaves each file as it was or as it was to be,
// and the next one takes up from there.
func TestKilledInstaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(texts()["three foreign hooks"], (*world).write)
	first := w.tree()
	whole := map[string][]string{}
	for _, path := range []string{w.claudeSettings(), w.codexHooks()} {
		whole[path] = []string{w.read(path)}
	}
	if _, err := Install(t.Context(), w.Env, both()); err != nil {
		t.Fatal(err)
	}
	for path := range whole {
		whole[path] = append(whole[path], w.read(path))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		cmd := exec.Command(self)
		cmd.Env = []string{installing + "=" + w.ServerPath, "HOME=" + w.home}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Millisecond + rand.N(60*time.Millisecond))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || strings.Contains(err.Error(), "exit status") {
			t.Fatalf("it ended by itself: %v", err)
		}
		for path, texts := range whole {
			if text := w.read(path); text != texts[0] && text != texts[1] {
				t.Fatalf("%s is neither the old nor the new file:\n%s", path, text)
			}
		}
	}
	w.Now = func() time.Time { return time.Now().Add(time.Hour) } // when what the killed left is nobody's
	if _, err := Install(t.Context(), w.Env, both()); err != nil {
		t.Fatal(err)
	}
	if _, err := Uninstall(t.Context(), w.Env, both()); err != nil {
		t.Fatal(err)
	}
	wantSame(t, "after the last removal", w.tree(), first)
}
