package hookscripts

import (
	"bytes"
	"testing"

	"peermux/hookscripts/internal/jsonedit"
	"peermux/hookscripts/internal/tomledit"
)

func fuzzEnv() Env {
	return Env{
		Getenv:   func(string) string { return "" },
		HookPath: "/opt/a b/peermux-hook", ServerPath: "/opt/a b/peermux", CodexHome: "/nowhere/.codex",
	}
}

// FuzzSettings: whatever a settings file holds, adding our parts makes one that
// parses and holds them, adding them twice changes nothing, and taking them
// out gives the first bytes.
func FuzzSettings(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text[0]))
	}
	f.Add([]byte(`{"hooks":{"Stop":[{"hooks":[{"command":"peermux-hook claude Stop"}]}],"X":[{"hooks":[1,{"command":2}]},3]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e := fuzzEnv()
		for _, client := range Clients() {
			hooks, err := e.hookPart(client)
			if err != nil {
				t.Fatal(err)
			}
			fuzzPart(t, hooks, text)
		}
		server, err := e.serverPart(Claude)
		if err != nil {
			t.Fatal(err)
		}
		fuzzPart(t, server, text)
	})
}

// FuzzConfig is the same for config.toml, with the trust in it.
func FuzzConfig(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text[1]))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e := fuzzEnv()
		server, err := e.serverPart(Codex)
		if err != nil {
			t.Fatal(err)
		}
		fuzzPart(t, server, text)
		rows := []trustRow{{e.trustKey("Stop", "0", "0"), "sha256:1"}, {e.trustKey("PreToolUse", "1", "0"), "sha256:2"}}
		fuzzPart(t, e.trustPart(rows, nil), text)
	})
}

func fuzzPart(t *testing.T, p part, text []byte) {
	t.Helper()
	had, err := p.has(text)
	if err != nil {
		return // it doesn't parse
	}
	for _, approve := range []bool{false, true} {
		once, err := p.add(text, approve)
		if err != nil {
			continue // a shape we leave alone
		}
		if has, err := p.has(once); err != nil || !has && !bytes.Equal(once, text) {
			t.Fatalf("%q became %q, which hasn't ours: %v", text, once, err)
		}
		twice, err := p.add(once, approve)
		if err != nil || !bytes.Equal(twice, once) {
			t.Fatalf("the second time %q became %q: %v", once, twice, err)
		}
		if has, err := p.has(once); err != nil || !has || had {
			continue
		}
		back, err := p.drop(once, text)
		if err != nil {
			t.Fatalf("%q can't be undone: %v", once, err)
		}
		if !bytes.Equal(back, text) && !equivalent(back, text) {
			t.Fatalf("%q\nbecame %q\nand came back as %q", text, once, back)
		}
	}
}

// equivalent allows for what only the kept copy of the file can give back: the
// space in a container that was empty, the missing newline at the end.
func equivalent(a, b []byte) bool {
	if bytes.Equal(bytes.TrimRight(a, "\r\n"), bytes.TrimRight(b, "\r\n")) {
		return true
	}
	x, err := jsonedit.Parse(a)
	y, err2 := jsonedit.Parse(b)
	if err != nil || err2 != nil {
		return false
	}
	return bytes.Equal(bytes.Join(bytes.Fields(x.Bytes()), nil), bytes.Join(bytes.Fields(y.Bytes()), nil)) || x.Root().Len() == 0 && y.Root().Len() == 0
}

// FuzzTrustMoves: hooks of others keep their trust when ours go, whatever the
// order in which all of them stand.
func FuzzTrustMoves(f *testing.F) {
	f.Add([]byte("ab|AaB|b"), []byte("A"))
	f.Add([]byte("A|a|b||aA"), []byte("aB|Ab"))
	f.Fuzz(func(t *testing.T, stop, tool []byte) {
		e := fuzzEnv()
		doc, config, trust := parseHooks(t, stop, tool), newConfig(t), map[string]string{}
		for key, command := range hookKeys(e, doc) {
			trust[key] = command
			if err := config.AppendTable(append(trustState(), key), "", []tomledit.Line{{Key: "trusted_hash", Value: tomledit.Quote(command)}}); err != nil {
				t.Fatal(err)
			}
		}
		others := e.othersKeys(doc)
		if err := dropHooks(doc, nil, func(string) bool { return false }); err != nil {
			t.Fatal(err)
		}
		if err := dropTrust(config, others); err != nil {
			t.Fatal(err)
		}
		for key, command := range hookKeys(e, doc) {
			if v, _ := config.Value(append(trustState(), key, "trusted_hash")...); v != command {
				t.Errorf("%s is %q, its trust %v", key, command, v)
			}
		}
	})
}

// parseHooks makes a hooks file: a letter is a hook, a capital one of ours, a
// bar the end of a group.
func parseHooks(t *testing.T, events ...[]byte) *jsonedit.Doc {
	doc, err := jsonedit.Parse([]byte(`{"hooks":{"Stop":[],"PreToolUse":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, groups := range events {
		for _, group := range bytes.Split(groups, []byte("|")) {
			text := `{"hooks":[`
			for j, c := range group {
				command := string('a' + c%26)
				if c >= 'A' && c <= 'Z' {
					command = "peermux-hook codex " + command
				}
				if j > 0 {
					text += ","
				}
				text += `{"command":` + jsonedit.Quote(command) + `}`
			}
			if err := doc.Append([]string{"hooks", []string{"Stop", "PreToolUse"}[i]}, text+"]}"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return doc
}

func newConfig(t *testing.T) *tomledit.Doc {
	doc, err := tomledit.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// hookKeys gives the command of each hook by its key.
func hookKeys(e Env, doc *jsonedit.Doc) map[string]string {
	keys := map[string]string{}
	for _, event := range []string{"Stop", "PreToolUse"} {
		groups, _ := doc.At("hooks", event)
		for _, i := range groups.Keys() {
			list, _ := doc.At("hooks", event, i, "hooks")
			for _, j := range list.Keys() {
				command, _ := doc.At("hooks", event, i, "hooks", j, "command")
				keys[e.trustKey(event, i, j)] = command.Text()
			}
		}
	}
	return keys
}
