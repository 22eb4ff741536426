package detect

import (
	"os"
	"path/filepath"

	"peermux/internal/transcript"
	"peermux/registry"
)

// transcriptOf finds the transcript of a session by its id, "" while there is
// none: both clients write it at the first turn.
func transcriptOf(f Facts, c client, id string) string {
	switch c.kind {
	case registry.Codex:
		file, _ := transcript.CodexPath(c.home, id)
		return file
	case registry.Claude:
		dir := f.CWD
		if c.session != nil && c.session.CWD != "" {
			dir = c.session.CWD
		}
		file := transcript.ClaudePath(c.home, dir, id)
		if _, err := os.Stat(file); err == nil {
			return file
		}
		// The session has moved to another directory since it began.
		elsewhere, err := filepath.Glob(filepath.Join(c.home, "projects", "*", id+".jsonl"))
		if err == nil && len(elsewhere) == 1 {
			return elsewhere[0]
		}
	}
	return ""
}
