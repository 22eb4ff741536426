package hookscripts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/internal/codexsim"
)

func codexOnly() Options { return Options{Clients: []string{Codex}} }

// trusted sets Codex up and has it trust the hooks.
func (w *world) trusted() TrustReport {
	w.t.Helper()
	w.setUp(codexOnly())
	r, err := TrustCodex(w.t.Context(), w.Env)
	if err != nil || !r.OK() {
		w.t.Fatalf("got %+v, %v", r, err)
	}
	return r
}

func TestTrustAndRemoveLeaveEveryByte(t *testing.T) {
	t.Parallel()
	for name, text := range texts() {
		if strings.Contains(text[1], "my-wrapper") || strings.Contains(text[0], "//") || strings.Contains(text[0], ",]") || strings.HasPrefix(text[0], "\xef") {
			continue // Codex would not read such a hooks.json
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.withCodex(codexsim.Answers)
			w.write(w.codexConfig(), text[1])
			before := w.tree()
			w.setUp(codexOnly())
			r, err := CodexTrust(t.Context(), w.Env)
			events, _ := Events(Codex)
			if err != nil || r.OK() || len(r.Untrusted()) != len(events) || len(r.Missing) > 0 {
				t.Fatalf("before: %+v, %v", r, err)
			}
			w.trusted()
			once := w.tree()
			w.trusted()
			wantSame(t, "after trusting twice", w.tree(), once)
			w.takeDown(both())
			wantSame(t, "after removal", w.tree(), before)
		})
	}
}

func TestOnlyOurHooksAreTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withCodex(codexsim.Answers)
	w.write(w.codexHooks(), `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"theirs"}]}]}}`)
	w.trusted()
	trust := codexsim.Trust(w.CodexHome)
	if _, ok := trust[w.trustKey("Stop", "0", "0")]; ok {
		t.Error("a foreign hook is trusted now")
	}
	if _, ok := trust[w.trustKey("Stop", "1", "0")]; !ok {
		t.Error("ours isn't")
	}
}

func TestAChangedHookIsTrustedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withCodex(codexsim.Answers)
	w.trusted()
	w.edit(w.codexHooks(), `"timeout": 10`, `"timeout": 20`)
	r, err := CodexTrust(t.Context(), w.Env)
	if err != nil || len(r.Untrusted()) != 1 || r.Hooks[slices.IndexFunc(r.Hooks, HookTrust.untrusted)].Status != "modified" {
		t.Fatalf("got %+v, %v", r, err)
	}
	w.trusted()
	w.takeDown(codexOnly())
	wantSame(t, "after removal", w.tree(), "")
}

// The hook of somebody else that stands behind ours moves up when ours goes,
// and stays trusted.
func TestOthersStayTrustedWhenOursGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withCodex(codexsim.Answers)
	w.trusted()
	theirs := func(i int) string {
		return fmt.Sprintf(`{"hooks": [{"type": "command", "command": "theirs %d"}, {"type": "command", "command": "more %[1]d"}]}`, i)
	}
	for _, event := range []string{"Stop", "PreToolUse"} {
		w.edit(w.codexHooks(), `"`+event+`": [`, `"`+event+`": [`+theirs(0)+",")
		w.edit(w.codexHooks(), "codex "+event+"\",\n            \"timeout\": 10\n          }\n        ]\n      }", "codex "+event+"\",\n            \"timeout\": 10\n          }\n        ]\n      },\n      "+theirs(2)+", "+theirs(3))
	}
	w.trustAll()
	keep := w.statuses("theirs", "more")
	if len(keep) != 12 {
		t.Fatalf("the test is wrong: %v", keep)
	}
	w.takeDown(codexOnly())
	if after := w.statuses("theirs", "more"); !slices.Equal(after, keep) {
		t.Errorf("got %v\nwant %v", after, keep)
	}
	if text := w.read(w.codexConfig()); strings.Contains(text, "peermux") || strings.Contains(text, ":stop:3:") {
		t.Errorf("left in config.toml:\n%s", text)
	}
}

// trustAll is the person's "trust all" in Codex.
func (w *world) trustAll() {
	w.t.Helper()
	text := w.read(w.codexConfig())
	hooks, _ := codexsim.List(w.CodexHome)
	for _, h := range hooks {
		header := fmt.Sprintf("[hooks.state.%q]", h.Key)
		if i := strings.Index(text, header); i >= 0 { // a row of ours under a key that is another hook's by now
			j := i + strings.Index(text[i:], "trusted_hash")
			k := j + strings.IndexByte(text[j:], '\n')
			text = text[:j] + fmt.Sprintf("trusted_hash = %q", h.CurrentHash) + text[k:]
			continue
		}
		text += fmt.Sprintf("\n%s\ntrusted_hash = %q\n", header, h.CurrentHash)
	}
	w.write(w.codexConfig(), text)
}

// statuses are the trust of the hooks whose command begins with a word.
func (w *world) statuses(words ...string) []string {
	var out []string
	hooks, _ := codexsim.List(w.CodexHome)
	for _, h := range hooks {
		if first, _, _ := strings.Cut(h.Command, " "); slices.Contains(words, first) {
			out = append(out, fmt.Sprintf("%s %s %s", h.EventName, h.Command, h.TrustStatus))
		}
	}
	slices.Sort(out)
	return out
}

// What a person trusted in Codex's own dialog is the person's to take back.
func TestThePersonsTrustStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withCodex(codexsim.Answers)
	w.setUp(codexOnly())
	w.trustAll()
	row := fmt.Sprintf("[hooks.state.%q]", w.trustKey("Stop", "0", "0"))
	r, err := TrustCodex(t.Context(), w.Env)
	if err != nil || !r.OK() {
		t.Fatalf("got %+v, %v", r, err)
	}
	w.takeDown(codexOnly())
	if text := w.read(w.codexConfig()); !strings.Contains(text, row) {
		t.Errorf("the row is gone:\n%s", text)
	}
}

func TestCodexThatCantReadTheHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withCodex(codexsim.Answers)
	w.write(w.codexHooks(), "{} // mine\n")
	w.setUp(codexOnly())
	r, err := TrustCodex(t.Context(), w.Env)
	events, _ := Events(Codex)
	if err != nil || r.OK() || len(r.Missing) != len(events) || len(r.Warnings) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestCodexThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUp(codexOnly())
	before := w.tree()
	if _, err := CodexTrust(t.Context(), w.Env); err == nil || !strings.Contains(err.Error(), "codex") {
		t.Errorf("without Codex: %v", err)
	}
	w.withCodex(codexsim.Dies)
	if _, err := TrustCodex(t.Context(), w.Env); err == nil || !strings.Contains(err.Error(), "I will not do this") {
		t.Errorf("a Codex that dies: %v", err)
	}
	w.withCodex(codexsim.Hangs)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := TrustCodex(ctx, w.Env); err == nil {
		t.Error("a Codex that hangs: no error")
	}
	wantSame(t, "the settings", w.tree(), before)
	if left := processes(t, filepath.Dir(w.ServerPath), standIn+"="+codexsim.Hangs); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// processes finds the processes of ours that still carry a variable (Linux;
// elsewhere there is no such list to look at).
func processes(t *testing.T, _, variable string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && slices.Contains(strings.Split(string(b), "\x00"), variable) {
			left = append(left, f)
		}
	}
	return left
}
