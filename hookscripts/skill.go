package hookscripts

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"peermux/hookscripts/internal/userfile"
)

// skillMark tells our skill file from one that a person has made their own.
const skillMark = "peermux setup writes this file; take this line out to keep your changes"

// InstallSkills puts the skill that teaches a session to use its peers into
// the clients' own skill folders.
func InstallSkills(ctx context.Context, e Env, o Options) ([]Change, error) {
	parts, err := e.parts(o.Clients, e.skillPart)
	if err != nil {
		return nil, err
	}
	return e.each(parts, o, func(p part) (Change, error) { return p.install(ctx, e, o) })
}

// RemoveSkills takes them out, and the folders that stay empty.
func RemoveSkills(ctx context.Context, e Env, o Options) ([]Change, error) {
	parts, err := e.parts(o.Clients, e.skillPart)
	if err != nil {
		return nil, err
	}
	return e.each(parts, o, func(p part) (Change, error) {
		c, err := p.remove(ctx, e, o)
		if err != nil || c.Did != Removed || o.DryRun {
			return c, err
		}
		for _, dir := range []string{filepath.Dir(p.path), filepath.Dir(filepath.Dir(p.path))} {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				break
			}
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return c, err
			}
		}
		return c, nil
	})
}

// skill is the skill file for a client.
func skill(client string) ([]byte, error) {
	text, err := files.ReadFile("files/SKILL.md")
	if err != nil {
		return nil, err
	}
	find := "They are called `mcp__peermux__NAME`; when one isn't loaded yet, look for it with `ToolSearch`."
	if client == Codex {
		find = "They are in the namespace `mcp__peermux`; look for them with `tool_search`."
	}
	return []byte(strings.NewReplacer("{{mark}}", skillMark, "{{find}}", find).Replace(string(text))), nil
}

func (e Env) skillPart(client string) (part, error) {
	text, err := skill(client)
	if err != nil {
		return part{}, err
	}
	dir := map[string]string{Claude: e.ClaudeDir, Codex: e.CodexHome}[client]
	ours := func(have []byte) (bool, error) { return bytes.Contains(have, []byte(skillMark)), nil }
	return part{
		client: client, what: "skill", path: filepath.Join(dir, "skills", "peermux", "SKILL.md"),
		add: func(have []byte, _ bool) ([]byte, error) {
			if len(have) > 0 && !bytes.Contains(have, []byte(skillMark)) {
				return have, nil // the person's own
			}
			return text, nil
		},
		drop: func(have, _ []byte) ([]byte, error) { return nil, nil },
		has:  ours,
		any:  ours,
		note: func(have []byte) string {
			if !bytes.Equal(have, text) {
				return "there is a skill of this name that isn't ours"
			}
			return ""
		},
	}, nil
}

// put writes a file that is all ours.
func put(path string, text []byte) error {
	_, _, err := userfile.Edit(path, func(userfile.Content) (userfile.Content, error) {
		return userfile.Content{Data: text, Exists: true}, nil
	})
	return err
}
