package hookscripts

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"peermux/hookscripts/internal/jsonedit"
	"peermux/hookscripts/internal/tomledit"
	"peermux/hookscripts/internal/userfile"
)

// Codex runs a hook of the user's only when config.toml holds the hash of its
// entry, under a key made of file, event and position. What the hash covers is
// Codex's business: it is asked for the hash, and asked again whether it trusts
// the hook now. The row itself is written by us, since Codex's own
// config/batchWrite turns CRLF into LF, drops a byte order mark, moves comments
// and sets the mode to 0600 (0.171).

// TrustReport is what Codex says about our hooks.
type TrustReport struct {
	Hooks    []HookTrust
	Missing  []string // events of ours that Codex doesn't list
	Warnings []string // why Codex left out a hooks file
}

// HookTrust is one hook of ours as Codex sees it.
type HookTrust struct {
	Event   string // as Codex names it: userPromptSubmit
	Key     string
	Status  string // trusted, untrusted, modified or managed
	Enabled bool
	hash    string
}

// OK reports whether Codex will run every hook of ours.
func (r TrustReport) OK() bool {
	return len(r.Hooks) > 0 && len(r.Missing) == 0 && !slices.ContainsFunc(r.Hooks, func(h HookTrust) bool {
		return !h.Enabled || h.untrusted()
	})
}

func (h HookTrust) untrusted() bool { return h.Status != "trusted" && h.Status != "managed" }

// Untrusted lists the events whose hooks Codex skips.
func (r TrustReport) Untrusted() []string {
	var events []string
	for _, h := range r.Hooks {
		if h.untrusted() {
			events = append(events, h.Event)
		}
	}
	return events
}

// CodexTrust asks Codex which of our hooks it trusts. It changes nothing of
// ours; Codex keeps its own records of having been started.
func CodexTrust(ctx context.Context, e Env) (TrustReport, error) {
	ctx, cancel := context.WithTimeout(ctx, appServerLimit)
	defer cancel()
	s, err := startAppServer(ctx, e)
	if err != nil {
		return TrustReport{}, err
	}
	report, err := e.listHooks(s)
	return report, errors.Join(err, s.close())
}

func (e Env) listHooks(s *appServer) (TrustReport, error) {
	var list struct {
		Data []struct {
			Hooks []struct {
				Key         string `json:"key"`
				EventName   string `json:"eventName"`
				Command     string `json:"command"`
				CurrentHash string `json:"currentHash"`
				TrustStatus string `json:"trustStatus"`
				Enabled     bool   `json:"enabled"`
				SourcePath  string `json:"sourcePath"`
			} `json:"hooks"`
			Warnings []string `json:"warnings"`
			Errors   []struct {
				Path    string `json:"path"`
				Message string `json:"message"`
			} `json:"errors"`
		} `json:"data"`
	}
	if err := s.call("hooks/list", map[string]any{"cwds": []string{e.CodexHome}}, &list); err != nil {
		return TrustReport{}, err
	}
	var r TrustReport
	for _, folder := range list.Data {
		for _, h := range folder.Hooks {
			if isOurs(h.Command) && strings.HasPrefix(h.Key, e.codexKeyFile()+":") {
				r.Hooks = append(r.Hooks, HookTrust{h.EventName, h.Key, h.TrustStatus, h.Enabled, h.CurrentHash})
			}
		}
		r.Warnings = append(r.Warnings, folder.Warnings...)
		for _, err := range folder.Errors {
			r.Warnings = append(r.Warnings, err.Path+": "+err.Message)
		}
	}
	events, err := Events(Codex)
	for _, event := range events {
		if !slices.ContainsFunc(r.Hooks, func(h HookTrust) bool { return strings.EqualFold(h.Event, event) }) {
			r.Missing = append(r.Missing, event)
		}
	}
	return r, err
}

// codexKeyFile is the hooks file as it stands in Codex's keys: the folder
// resolved, the file not (0.171).
func (e Env) codexKeyFile() string {
	if dir, err := filepath.EvalSymlinks(e.CodexHome); err == nil {
		return filepath.Join(dir, "hooks.json")
	}
	return e.codexHooks()
}

// TrustCodex makes Codex trust our hooks, and only ours. Call it when the
// person has agreed. The report is Codex's own answer afterwards.
func TrustCodex(ctx context.Context, e Env) (TrustReport, error) {
	unlock, err := e.lock(false)
	if err != nil {
		return TrustReport{}, err
	}
	defer unlock()
	report, err := CodexTrust(ctx, e)
	if err != nil || report.OK() {
		return report, err
	}
	var rows []trustRow
	for _, h := range report.Hooks {
		if h.untrusted() {
			rows = append(rows, trustRow{h.Key, h.hash})
		}
	}
	if len(rows) == 0 {
		return report, nil
	}
	slices.SortFunc(rows, func(a, b trustRow) int { return strings.Compare(a.key, b.key) })
	if _, err := e.trustPart(rows, nil).install(ctx, e, Options{}); err != nil {
		return report, fmt.Errorf("%w; in Codex, /hooks lets you trust them", err)
	}
	return CodexTrust(ctx, e)
}

// trustRow is [hooks.state."key"] with its trusted_hash.
type trustRow struct{ key, hash string }

// trustMark stands behind the header of a row that we wrote. A row without it
// is the person's own word.
const trustMark = "peermux setup"

func trustState() []string { return []string{"hooks", "state"} }

// trustRows are the rows that we wrote.
func trustRows(doc *tomledit.Doc) []trustRow {
	var rows []trustRow
	for _, key := range doc.Names(trustState()...) {
		header, ok := doc.Table(append(trustState(), key)...)
		if !ok || !strings.HasSuffix(header, "# "+trustMark) {
			continue
		}
		v, _ := doc.Value(append(trustState(), key, "trusted_hash")...)
		hash, _ := v.(string)
		rows = append(rows, trustRow{key, hash})
	}
	return rows
}

// trustPart is the trust in config.toml: rows to be there, and for each hook
// of others the key it has when ours are gone.
func (e Env) trustPart(rows []trustRow, others map[string]string) part {
	any := tomlHas(func(doc *tomledit.Doc) bool { return hasCodexServer(doc) || len(trustRows(doc)) > 0 })
	return part{
		client: Codex, what: "trust", path: e.codexConfig(), note: func([]byte) string { return "" },
		add:  tomlChange(func(doc *tomledit.Doc, _ bool) error { return addTrust(doc, rows) }),
		drop: tomlDrop(func(doc *tomledit.Doc) error { return dropTrust(doc, others) }),
		has: tomlHas(func(doc *tomledit.Doc) bool {
			return len(trustRows(doc)) > 0 || slices.ContainsFunc(doc.Names(trustState()...), func(key string) bool {
				return others[key] != "" && others[key] != key
			})
		}),
		any: any,
	}
}

func addTrust(doc *tomledit.Doc, rows []trustRow) error {
	for _, row := range rows {
		path := append(trustState(), row.key)
		var err error
		if _, ok := doc.Table(path...); ok {
			err = doc.Set(path, "trusted_hash", tomledit.Quote(row.hash))
		} else {
			err = doc.AppendTable(path, trustMark, []tomledit.Line{{Key: "trusted_hash", Value: tomledit.Quote(row.hash)}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropTrust deletes our rows and gives the rows of others their new keys. A
// row of ours under a key that is another's hook by now has become that one's.
func dropTrust(doc *tomledit.Doc, others map[string]string) error {
	for _, row := range trustRows(doc) {
		path := append(trustState(), row.key)
		change := doc.Delete
		if others[row.key] != "" {
			change = doc.Uncomment
		}
		if err := change(path...); err != nil {
			return err
		}
	}
	moves := map[string]string{}
	for from, to := range others {
		if _, ok := doc.Value(append(trustState(), from)...); ok && from != to {
			moves[from] = to
		}
	}
	for _, to := range moves {
		// What is left under a key that gets a new owner was about one of ours.
		if _, leaves := moves[to]; !leaves {
			if err := doc.Delete(append(trustState(), to)...); err != nil {
				return err
			}
		}
	}
	return doc.Rename(trustState(), moves)
}

// removeCodexHooks takes our hooks out of hooks.json, then our trust out of
// config.toml. Hooks of others that stood behind ours move up, and Codex knows
// trust by position: theirs moves along.
func (e Env) removeCodexHooks(ctx context.Context, p part, o Options) (Change, error) {
	f, err := userfile.Read(p.path)
	if err != nil {
		return Change{}, err
	}
	var others map[string]string
	if doc, err := jsonedit.Parse(f.Data); err == nil {
		others = e.othersKeys(doc)
	}
	c, err := p.remove(ctx, e, o)
	if err != nil {
		return c, err
	}
	config, err := userfile.Read(e.codexConfig())
	if err != nil || !config.Exists {
		return c, err
	}
	doc, err := tomledit.Parse(config.Data)
	if err != nil {
		return c, fmt.Errorf("%s: %w; the trust in our hooks stays there", e.codexConfig(), err)
	}
	t, err := e.trustPart(trustRows(doc), others).remove(ctx, e, o)
	c.Diff += t.Diff
	return c, err
}

// othersKeys gives, for the key of each hook in doc that isn't ours, its key
// when ours are taken out.
func (e Env) othersKeys(doc *jsonedit.Doc) map[string]string {
	keys := map[string]string{}
	all, _ := doc.At("hooks")
	for _, event := range all.Keys() {
		ours := map[string]bool{}
		for _, path := range oursIn(doc, event) {
			ours[path[2]+":"+path[4]] = true
		}
		groups, _ := doc.At("hooks", event)
		newGroup := 0
		for _, i := range groups.Keys() {
			list, _ := doc.At("hooks", event, i, "hooks")
			newHook := 0
			for _, j := range list.Keys() {
				if ours[i+":"+j] {
					continue
				}
				keys[e.trustKey(event, i, j)] = e.trustKey(event, strconv.Itoa(newGroup), strconv.Itoa(newHook))
				newHook++
			}
			if newHook > 0 || list.Len() == 0 {
				newGroup++
			}
		}
	}
	return keys
}

// trustKey is Codex's name for a hook: file, event in snake case, position.
func (e Env) trustKey(event, group, hook string) string {
	var snake strings.Builder
	for i, r := range event {
		if unicode.IsUpper(r) && i > 0 {
			snake.WriteByte('_')
		}
		snake.WriteRune(unicode.ToLower(r))
	}
	return e.codexKeyFile() + ":" + snake.String() + ":" + group + ":" + hook
}
