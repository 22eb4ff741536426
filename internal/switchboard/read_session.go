package switchboard

import (
	"context"
	"path/filepath"
	"strings"

	"peermux/detect"
	"peermux/internal/frame"
	"peermux/internal/tmux"
	"peermux/internal/transcript"
	"peermux/registry"
)

// Modes of reading a session.
const (
	ModeAuto       = "auto"
	ModeTranscript = "transcript"
	ModePane       = "pane"
)

// ReadSessionRequest says whose doings to read, and how much of them.
type ReadSessionRequest struct {
	Name      string // a target, or a tmux pane that is no session
	Mode      string
	Limit     int // turns
	MaxBytes  int
	PaneLines int // lines of history above the visible screen

	Project   string // where past conversations are looked for; empty is the actor's
	Subagents bool   // also what subagents said
	Unmasked  bool   // leave secrets readable
}

// ReadSession reads a peer's transcript from its end, or what its pane shows. It
// reads only what belongs to sessions in the actor's reach, and tmux panes under
// its project.
func (b *Board) ReadSession(ctx context.Context, a Actor, r ReadSessionRequest) (SessionRead, error) {
	switch r.Mode {
	case "":
		r.Mode = ModeAuto
	case ModeAuto, ModeTranscript, ModePane:
	default:
		return SessionRead{}, refuse(CodeBadRequest, "mode %q: must be auto, transcript or pane", r.Mode)
	}
	live, err := b.peek()
	if err != nil {
		return SessionRead{}, err
	}
	t, err := registry.Resolve(r.Name, b.reach(a), live, registry.ResolveOptions{})
	switch {
	case err == nil && t.Kind != registry.ToSession:
		return SessionRead{}, refuse(CodeBadRequest, "%s is no session, so there is nothing to read", r.Name)
	case err == nil:
		return b.readEntry(ctx, *t.Entry, r)
	}
	if read, ok, paneErr := b.readPlainPane(ctx, a, live, r); ok {
		return read, paneErr
	}
	if w, ok, pastErr := b.pastWords(ctx, a, r.Name, r.Project); pastErr != nil {
		return SessionRead{}, pastErr
	} else if ok {
		return b.readPast(ctx, w, r)
	}
	return SessionRead{}, AsError(err)
}

// readPast reads a conversation that no live session holds.
func (b *Board) readPast(ctx context.Context, w Words, r ReadSessionRequest) (SessionRead, error) {
	if r.Mode == ModePane {
		return SessionRead{}, refuse(CodeBadRequest, "the conversation %s is past and has no pane; read its transcript", w.SessionID)
	}
	read := SessionRead{OK: true, SessionID: w.SessionID}
	why, err := b.readWords(ctx, w, r, &read)
	if err == nil && why != "" {
		err = refuse(CodeUnknownTarget, "the transcript of %s went away", w.SessionID)
	}
	return read, err
}

func (b *Board) readEntry(ctx context.Context, e registry.Entry, r ReadSessionRequest) (SessionRead, error) {
	read := SessionRead{OK: true, Name: e.Name, SessionID: e.SessionID}
	if r.Mode != ModePane {
		why, err := b.readWords(ctx, b.wordsOf(e), r, &read)
		if err != nil {
			return SessionRead{}, err
		}
		if why == "" {
			return read, nil
		}
		read.Notes = append(read.Notes, why)
	}
	if e.Tmux == nil || r.Mode == ModeTranscript {
		read.Mode = ModeTranscript
		if r.Mode == ModePane {
			return SessionRead{}, refuse(CodeBadRequest, "%s has no proven tmux pane; read its transcript instead", e.Name)
		}
		return read, nil
	}
	err := b.capture(ctx, e.Tmux.Socket, e.Tmux.Pane, r, &read)
	if err != nil {
		return SessionRead{}, refuse(CodeBadRequest, "the pane %s of %s cannot be read: %v", e.Tmux.Pane, e.Name, err)
	}
	read.Source = "tmux pane " + e.Tmux.Pane + ", proven to be that of the session's client"
	return read, nil
}

func sourceWord(source string) string {
	if source == "" {
		return "its id"
	}
	return source
}

// transcriptRoot is the folder that a session's transcript must not leave.
func (b *Board) transcriptRoot(e registry.Entry) string {
	env := b.clientEnv(e)
	switch e.Client.Kind {
	case registry.Claude:
		return filepath.Join(detect.ClaudeDir(env), "projects")
	case registry.Codex:
		return detect.CodexHome(env)
	}
	return ""
}

// readPlainPane reads a tmux pane under the actor's project in which no session
// runs; ok is false when the name is no such pane.
func (b *Board) readPlainPane(ctx context.Context, a Actor, live []registry.Entry, r ReadSessionRequest) (SessionRead, bool, error) {
	if !strings.HasPrefix(r.Name, "%") || a.Project == "" {
		return SessionRead{}, false, nil
	}
	var matches []TmuxPane
	for _, p := range b.otherPanes(ctx, a.Project, live) {
		if p.Pane == r.Name {
			matches = append(matches, p)
		}
	}
	switch {
	case len(matches) == 0:
		return SessionRead{}, false, nil
	case len(matches) > 1:
		return SessionRead{}, true, refuse(CodeAmbiguousTarget, "%d tmux servers have a pane %s under this project", len(matches), r.Name)
	case r.Mode == ModeTranscript:
		return SessionRead{}, true, refuse(CodeBadRequest, "%s is a plain pane and has no transcript; use mode pane", r.Name)
	}
	read := SessionRead{OK: true, Name: r.Name}
	if err := b.capture(ctx, matches[0].Socket, r.Name, r, &read); err != nil {
		return SessionRead{}, true, refuse(CodeBadRequest, "the pane %s cannot be read: %v", r.Name, err)
	}
	read.Source = "tmux pane " + r.Name + " (" + matches[0].Command + "), in which no session is known"
	return read, true, nil
}

const defaultPaneBytes = 24 << 10

func (b *Board) capture(ctx context.Context, socket, pane string, r ReadSessionRequest, read *SessionRead) error {
	runner := tmux.Runner{Socket: socket}
	text, err := runner.Capture(ctx, pane, tmux.CaptureOptions{Lines: r.PaneLines})
	if err != nil {
		return err
	}
	text, read.Masked = transcript.Mask(frame.Clean(strings.TrimRight(text, "\n ")))
	limit := r.MaxBytes
	if limit <= 0 {
		limit = defaultPaneBytes
	}
	if len(text) > limit {
		// The end of a screen is what matters; begin it on a whole line.
		text = text[len(text)-limit:]
		_, text, _ = strings.Cut(text, "\n")
		read.Truncated = true
	}
	read.Mode, read.Text = ModePane, text
	return nil
}
