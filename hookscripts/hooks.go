package hookscripts

import (
	"embed"
	"slices"
	"strconv"
	"strings"

	"peermux/hookscripts/internal/jsonedit"
)

//go:embed files
var files embed.FS

// hook is what is installed for one event: a matcher group, as JSON.
type hook struct {
	event, group, command string
}

// hooks returns what is installed into a client, in order.
func (e Env) hooks(client string) ([]hook, error) {
	data, err := files.ReadFile("files/" + client + "-hooks.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonedit.Parse(data)
	if err != nil {
		return nil, err
	}
	var hooks []hook
	for _, event := range doc.Root().Keys() {
		h := hook{event: event, command: e.command(client, event)}
		group, _ := doc.At(event, "0")
		named := jsonedit.Quote("peermux-hook " + client + " " + event)
		h.group = strings.Replace(group.Raw(), named, jsonedit.Quote(h.command), 1)
		hooks = append(hooks, h)
	}
	return hooks, nil
}

// Events lists the events that are installed into a client.
func Events(client string) ([]string, error) {
	hooks, err := Env{Getenv: func(string) string { return "" }}.hooks(client)
	var events []string
	for _, h := range hooks {
		events = append(events, h.event)
	}
	return events, err
}

// hooksObject is all of them as one JSON object.
func hooksObject(hooks []hook) string {
	members := make([]string, len(hooks))
	for i, h := range hooks {
		members[i] = jsonedit.Quote(h.event) + ":[" + h.group + "]"
	}
	return "{" + strings.Join(members, ",") + "}"
}

// addHooks puts the hooks into a settings file: ours that are there get the
// present command and stay as they are otherwise, the missing ones are added
// behind everybody else's, those of events we no longer use go.
func addHooks(doc *jsonedit.Doc, hooks []hook) error {
	all, ok := doc.At("hooks")
	if !ok {
		if k := doc.Root().Kind(); k != '{' && k != 0 {
			return shapeError(doc.Root(), "the file", "object")
		}
		return doc.Set(nil, "hooks", hooksObject(hooks))
	}
	if all.Kind() != '{' {
		return shapeError(all, `"hooks"`, "object")
	}
	for _, h := range hooks {
		if err := addHook(doc, h); err != nil {
			return err
		}
	}
	used := func(event string) bool {
		return slices.ContainsFunc(hooks, func(h hook) bool { return h.event == event })
	}
	return dropHooks(doc, nil, used)
}

func addHook(doc *jsonedit.Doc, h hook) error {
	groups, ok := doc.At("hooks", h.event)
	if !ok {
		return doc.Set([]string{"hooks"}, h.event, "["+h.group+"]")
	}
	if groups.Kind() != '[' {
		return shapeError(groups, strconv.Quote(h.event), "array")
	}
	ours := oursIn(doc, h.event)
	for _, path := range ours {
		command, _ := doc.At(append(path, "command")...)
		if command.Text() == h.command {
			continue
		}
		if err := doc.Set(path, "command", jsonedit.Quote(h.command)); err != nil {
			return err
		}
	}
	if len(ours) > 0 {
		return nil
	}
	return doc.Append([]string{"hooks", h.event}, h.group)
}

// oursIn returns the paths of our hooks on an event. Groups of others may have
// any shape.
func oursIn(doc *jsonedit.Doc, event string) [][]string {
	groups, _ := doc.At("hooks", event)
	if groups.Kind() != '[' {
		return nil
	}
	var paths [][]string
	for _, i := range groups.Keys() {
		list, _ := doc.At("hooks", event, i, "hooks")
		if list.Kind() != '[' {
			continue
		}
		for _, j := range list.Keys() {
			if command, ok := doc.At("hooks", event, i, "hooks", j, "command"); ok && isOurs(command.Text()) {
				paths = append(paths, []string{"hooks", event, i, "hooks", j})
			}
		}
	}
	return paths
}

// hasHooks reports whether any hook of ours is in the file.
func hasHooks(doc *jsonedit.Doc) bool {
	all, ok := doc.At("hooks")
	return ok && all.Kind() == '{' && slices.ContainsFunc(all.Keys(), func(event string) bool { return len(oursIn(doc, event)) > 0 })
}

// dropHooks takes our hooks out, except those of events that keep names. What
// they leave empty goes as well, unless it stood in before, the text of the
// time before us; before may be nil.
func dropHooks(doc, before *jsonedit.Doc, keep func(event string) bool) error {
	all, ok := doc.At("hooks")
	if !ok || all.Kind() != '{' {
		return nil
	}
	took := false
	for _, event := range all.Keys() {
		ours := oursIn(doc, event)
		if keep(event) || len(ours) == 0 {
			continue
		}
		took = true
		for _, path := range slices.Backward(ours) { // the last first, so that indexes stay right
			list, _ := doc.At(path[:4]...)
			if list.Len() == 1 {
				path = path[:3] // the group was there for this hook
			}
			if err := doc.Delete(path...); err != nil {
				return err
			}
		}
		if err := tidy(doc, before, "hooks", event); err != nil {
			return err
		}
	}
	if !took {
		return nil
	}
	return tidy(doc, before, "hooks")
}

// tidy looks after a container that ours may have left empty: it goes, unless
// it stood in before, where it then is again what it was.
func tidy(doc, before *jsonedit.Doc, path ...string) error {
	now, ok := doc.At(path...)
	if !ok || now.Len() > 0 {
		return nil
	}
	if before != nil {
		if was, ok := before.At(path...); ok {
			if was.Len() > 0 || was.Kind() != now.Kind() {
				return nil
			}
			return doc.Put(path, was.Raw())
		}
	}
	return doc.Delete(path...)
}

func shapeError(n jsonedit.Node, what, want string) error {
	line, column := n.Position()
	return &jsonedit.SyntaxError{Line: line, Column: column, Msg: what + " is no " + want}
}
