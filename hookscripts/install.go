package hookscripts

import (
	"context"
	"fmt"
	"slices"

	"peermux/hookscripts/internal/jsonedit"
	"peermux/hookscripts/internal/tomledit"
)

// Install puts the hooks into the clients. Codex runs them only when it trusts
// them: see TrustCodex.
func Install(ctx context.Context, e Env, o Options) ([]Change, error) {
	if err := e.CheckPrograms(); err != nil {
		return nil, err
	}
	parts, err := e.parts(o.Clients, e.hookPart)
	if err != nil {
		return nil, err
	}
	return e.each(parts, o, func(p part) (Change, error) { return p.install(ctx, e, o) })
}

// Uninstall takes the hooks out again, and the trust in them that TrustCodex
// wrote. What another trusts stays trusted, also when our going moves it.
func Uninstall(ctx context.Context, e Env, o Options) ([]Change, error) {
	parts, err := e.parts(o.Clients, e.hookPart)
	if err != nil {
		return nil, err
	}
	return e.each(parts, o, func(p part) (Change, error) {
		if p.client != Codex {
			return p.remove(ctx, e, o)
		}
		return e.removeCodexHooks(ctx, p, o)
	})
}

// RegisterServer makes the MCP server known to the clients.
func RegisterServer(ctx context.Context, e Env, o Options) ([]Change, error) {
	if err := e.CheckPrograms(); err != nil {
		return nil, err
	}
	parts, err := e.parts(o.Clients, e.serverPart)
	if err != nil {
		return nil, err
	}
	return e.each(parts, o, func(p part) (Change, error) { return p.install(ctx, e, o) })
}

// UnregisterServer undoes RegisterServer.
func UnregisterServer(ctx context.Context, e Env, o Options) ([]Change, error) {
	parts, err := e.parts(o.Clients, e.serverPart)
	if err != nil {
		return nil, err
	}
	return e.each(parts, o, func(p part) (Change, error) { return p.remove(ctx, e, o) })
}

func (e Env) parts(clients []string, one func(client string) (part, error)) ([]part, error) {
	var parts []part
	for _, client := range clients {
		if !slices.Contains(Clients(), client) {
			return nil, fmt.Errorf("no client %q: claude or codex", client)
		}
		p, err := one(client)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// hookPart is the hooks in a client's settings.
func (e Env) hookPart(client string) (part, error) {
	hooks, err := e.hooks(client)
	if err != nil {
		return part{}, err
	}
	p := part{client: client, what: "hooks", path: e.claudeSettings(), note: claudeNote}
	if client == Codex {
		p.path, p.note = e.codexHooks(), codexNote
	}
	p.add = jsonChange(func(doc *jsonedit.Doc, approve bool) error {
		if err := addHooks(doc, hooks); err != nil || client != Claude || !approve {
			return err
		}
		return addClaudeApproval(doc)
	})
	p.drop = jsonDrop(func(doc, before *jsonedit.Doc) error {
		if err := dropHooks(doc, before, func(string) bool { return false }); err != nil || client != Claude {
			return err
		}
		return dropClaudeApproval(doc, before)
	})
	p.has = jsonHas(hasHooks)
	p.any = p.has
	return p, nil
}

// serverPart is the MCP server's registration.
func (e Env) serverPart(client string) (part, error) {
	if client == Claude {
		return part{
			client: client, what: "server", path: e.claudeConfig(), claudeLock: true, note: claudeNote,
			add:  jsonChange(func(doc *jsonedit.Doc, _ bool) error { return e.addClaudeServer(doc) }),
			drop: jsonDrop(dropClaudeServer),
			has:  jsonHas(hasClaudeServer),
			any:  jsonHas(hasClaudeServer),
		}, nil
	}
	return part{
		client: client, what: "server", path: e.codexConfig(), note: func([]byte) string { return "" },
		add:  tomlChange(e.addCodexServer),
		drop: tomlDrop(dropCodexServer),
		has:  tomlHas(hasCodexServer),
		any:  tomlHas(func(doc *tomledit.Doc) bool { return hasCodexServer(doc) || len(trustRows(doc)) > 0 }),
	}, nil
}

func jsonChange(change func(*jsonedit.Doc, bool) error) func([]byte, bool) ([]byte, error) {
	return func(text []byte, approve bool) ([]byte, error) {
		doc, err := jsonedit.Parse(text)
		if err != nil {
			return nil, err
		}
		if err := change(doc, approve); err != nil {
			return nil, err
		}
		return doc.Bytes(), nil
	}
}

func jsonDrop(drop func(doc, before *jsonedit.Doc) error) func(text, before []byte) ([]byte, error) {
	return func(text, before []byte) ([]byte, error) {
		doc, err := jsonedit.Parse(text)
		if err != nil {
			return nil, err
		}
		first, err := jsonedit.Parse(before)
		if err != nil || before == nil {
			first = nil // without it, what we leave empty goes
		}
		if err := drop(doc, first); err != nil {
			return nil, err
		}
		if before == nil && doc.Root().Kind() == '{' && doc.Blank() {
			return nil, nil
		}
		return doc.Bytes(), nil
	}
}

func jsonHas(has func(*jsonedit.Doc) bool) func([]byte) (bool, error) {
	return func(text []byte) (bool, error) {
		doc, err := jsonedit.Parse(text)
		return err == nil && has(doc), err
	}
}

func tomlChange(change func(*tomledit.Doc, bool) error) func([]byte, bool) ([]byte, error) {
	return func(text []byte, approve bool) ([]byte, error) {
		doc, err := tomledit.Parse(text)
		if err != nil {
			return nil, err
		}
		if err := change(doc, approve); err != nil {
			return nil, err
		}
		return doc.Bytes(), nil
	}
}

func tomlDrop(drop func(*tomledit.Doc) error) func(text, before []byte) ([]byte, error) {
	return func(text, before []byte) ([]byte, error) {
		doc, err := tomledit.Parse(text)
		if err != nil {
			return nil, err
		}
		if err := drop(doc); err != nil {
			return nil, err
		}
		if before == nil && doc.Blank() {
			return nil, nil
		}
		return doc.Bytes(), nil
	}
}

func tomlHas(has func(*tomledit.Doc) bool) func([]byte) (bool, error) {
	return func(text []byte) (bool, error) {
		doc, err := tomledit.Parse(text)
		return err == nil && has(doc), err
	}
}

// claudeNote: Claude Code reads strict JSON and otherwise ignores the whole
// file (2.1.197 without a word, 2.1.328 with one).
func claudeNote(text []byte) string {
	doc, err := jsonedit.Parse(text)
	if err != nil {
		return ""
	}
	if at := doc.Strict(); at != nil {
		return fmt.Sprintf("Claude Code ignores this whole file because of %s (line %d, column %d); take it out", at.Msg, at.Line, at.Column)
	}
	return ""
}

// codexNote: Codex 0.171 reads hooks.json even more strictly.
func codexNote(text []byte) string {
	doc, err := jsonedit.Parse(text)
	if err != nil {
		return ""
	}
	if doc.HasMark() {
		return "Codex ignores this whole file because of the byte order mark at its start; take it out"
	}
	if at := doc.Strict(); at != nil {
		return fmt.Sprintf("Codex ignores this whole file because of %s (line %d, column %d); take it out", at.Msg, at.Line, at.Column)
	}
	return ""
}
