package detect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/transcript"
	"peermux/registry"
)

// grace is how long a process lets the proving strategies come first: a hook's
// report may still be on its way.
const grace = 10 * time.Second

// byFingerprint looks for the one session whose file can only have been born by
// our client.
func byFingerprint(f Facts, c client) Outcome {
	o := Outcome{Strategy: Fingerprint, Outcome: Abstained}
	started, known := f.Self.StartedAt(f.Now)
	switch {
	case c.kind != registry.Claude && c.kind != registry.Codex:
		o.Outcome, o.Reason = NotApplicable, "transcripts of this client are not known"
	case !known:
		o.Reason = "the start of this process is unknown"
	case c.kind == registry.Codex:
		// Needs no grace: our thread's lock is older than we are, so it is among
		// the candidates, and Codex's hooks report only at the first turn.
		return codexFingerprint(f, c, o)
	case f.Now.Sub(started) < grace:
		o.Reason = "waits " + grace.String() + " from the start, so that hooks can report first"
	default:
		return claudeFingerprint(f, c, o)
	}
	return o
}

// codexFingerprint compares the birth of threads' locks with the starts of their
// servers.
func codexFingerprint(f Facts, c client, o Outcome) Outcome {
	threads, err := ownThreads(f, c)
	switch {
	case err != nil:
		o.Reason = err.Error()
	case len(threads) == 0:
		o.Reason = "no thread of the client process was opened when this server started"
	case len(threads) == 1:
		o.Outcome, o.SessionID = Fired, threads[0]
		o.Reason = "one thread of the client process was opened when this server started"
	default:
		o.Candidates = threads
		o.Reason = "several threads of the client process were opened when this server started"
	}
	return o
}

// claudeFingerprint looks for the one transcript of our directory that was born
// since the client started and that no other session has.
func claudeFingerprint(f Facts, c client, o Outcome) Outcome {
	started, known := c.info.StartedAt(f.Now)
	if c.PID == 0 || !known {
		o.Reason = "the start of the client process is unknown"
		return o
	}
	folder := transcript.ClaudeFolder(c.home, f.CWD)
	files, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		o.Reason = "there is no transcript for this directory yet"
		return o
	}
	if err != nil {
		o.Reason = err.Error()
		return o
	}
	var fits []string
	for _, file := range files {
		id, ok := strings.CutSuffix(file.Name(), ".jsonl")
		if !ok || !validID(id) {
			continue
		}
		born, ok := f.System.Born(filepath.Join(folder, file.Name()))
		if !ok {
			o.Reason = "the file system keeps no birth times"
			return o
		}
		if !born.Before(started) {
			fits = append(fits, id)
		}
	}
	return onlyOurs(f, c, fits, o)
}

// onlyOurs takes the candidate that is left when those of other sessions are
// struck out, provided that no other process could have born it.
func onlyOurs(f Facts, c client, fits []string, o Outcome) Outcome {
	entries, err := f.Registry.Peek()
	if err != nil {
		o.Reason = err.Error()
		return o
	}
	rival := ""
	for _, e := range entries {
		if e.Client.Kind != c.kind || e.Client.ID() == c.info.ID {
			continue
		}
		fits = slices.DeleteFunc(fits, func(id string) bool { return id == e.SessionID })
		if e.SessionID == "" && e.CWD == f.CWD {
			rival = e.Name
		}
	}
	switch {
	case len(fits) == 0:
		o.Reason = "no transcript of this directory was born since the client started"
	case len(fits) > 1:
		o.Candidates = fits
		o.Reason = "several transcripts of this directory were born since the client started"
	case rival != "":
		o.Candidates = fits
		o.Reason = "the one transcript may also be that of " + rival + ", which is not identified either"
	default:
		o.Outcome, o.SessionID = Fired, fits[0]
		o.Reason = "one transcript of this directory was born since the client started"
	}
	return o
}
