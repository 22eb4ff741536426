package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"peermux/detect"
	"peermux/internal/switchboard"
	"peermux/registry"
)

type metaKey struct{}

// withMeta keeps a call's _meta for detection: Codex names its thread there.
func withMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	raw, err := json.Marshal(meta)
	if err != nil {
		return ctx // it came from JSON; without it detection has its other ways
	}
	return context.WithValue(ctx, metaKey{}, json.RawMessage(raw))
}

func metaOf(ctx context.Context) json.RawMessage {
	raw, _ := ctx.Value(metaKey{}).(json.RawMessage)
	return raw
}

// deliver lets what a result shows depend on the result's way out.
func deliver(ctx context.Context, d switchboard.Delivery) {
	if d == nil {
		return
	}
	if c := callOf(ctx); c != nil {
		c.commit(d)
	}
}

// mySession tells a session who it is.
type mySession struct {
	OK        bool             `json:"ok"`
	Name      string           `json:"name,omitempty"`
	SessionID string           `json:"session_id"`
	Source    string           `json:"source,omitempty" jsonschema:"the way the id was found"`
	Visible   bool             `json:"visible" jsonschema:"whether peers can see this session"`
	Session   registry.Entry   `json:"session" jsonschema:"the entry as peers read it"`
	Diagnosis detect.Diagnosis `json:"diagnosis" jsonschema:"every way of finding the id, with what came of it and why"`
	Settings  []string         `json:"settings,omitempty" jsonschema:"variables of this server whose values mean nothing, and what is done instead"`
	Next      string           `json:"next,omitempty" jsonschema:"what to do when the id is not known"`
}

func runMySession(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	if err := decode("get_my_session", raw, &noArgs{}); err != nil {
		return nil, err
	}
	if _, err := s.identity.actor(ctx); err != nil {
		return nil, err
	}
	return s.mySession(), nil
}

func (s *Server) mySession() mySession {
	e, d, visible := s.identity.current()
	my := mySession{
		OK: true, Name: e.Name, SessionID: e.SessionID, Source: e.SessionSource, Visible: visible, Session: e, Diagnosis: d,
		Settings: switchboard.WrongSettings(s.board.Env),
	}
	switch {
	case !visible:
		my.Next = "no client process was found above this server, so peers cannot see it"
	case e.SessionID == "":
		my.Next = "call claim_session with the id of this conversation; until then you can be written to but cannot send"
	}
	return my
}

func runClaim(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args sessionIDArgs
	if err := decode("claim_session", raw, &args); err != nil {
		return nil, err
	}
	if err := s.identity.asClaimed(ctx, args.SessionID); err != nil {
		return nil, err
	}
	return s.mySession(), nil
}

// stateCard is what peers see of a session's own words.
type stateCard struct {
	OK        bool      `json:"ok"`
	Name      string    `json:"name"`
	SessionID string    `json:"session_id"`
	Purpose   string    `json:"purpose"`
	UpdatedAt time.Time `json:"updated_at"`
}

func runSetState(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args stateArgs
	if err := decode("set_my_state", raw, &args); err != nil {
		return nil, err
	}
	purpose, err := switchboard.Purpose(args.Purpose)
	if err != nil {
		return nil, err
	}
	e, err := s.identity.setPurpose(ctx, purpose)
	if err != nil {
		return nil, err
	}
	return stateCard{OK: true, Name: e.Name, SessionID: e.SessionID, Purpose: e.State.Purpose, UpdatedAt: e.State.UpdatedAt}, nil
}

func runList(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args listArgs
	if err := decode("list_project_sessions", raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return s.board.List(ctx, a, switchboard.ListRequest{Scope: args.Scope, Project: args.ProjectRoot})
}

func runReadSession(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args readSessionArgs
	if err := decode("read_session", raw, &args); err != nil {
		return nil, err
	}
	limit, note1, err := number{name: "limit", min: 1, max: 500, unset: 20}.read(args.Limit)
	if err != nil {
		return nil, err
	}
	size, note2, err := number{name: "max_bytes", min: 1000, max: 200_000, unset: 24 << 10}.read(args.MaxBytes)
	if err != nil {
		return nil, err
	}
	lines, note3, err := number{name: "pane_lines", min: 0, max: 10_000}.read(args.PaneLines)
	if err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	read, err := s.board.ReadSession(ctx, a, switchboard.ReadSessionRequest{
		Name: args.Name, Mode: args.Mode, Limit: limit, MaxBytes: size, PaneLines: lines,
	})
	read.Notes = append(read.Notes, said(note1, note2, note3)...)
	return read, err
}

// said leaves out what was not.
func said(notes ...string) []string {
	var list []string
	for _, n := range notes {
		if n != "" {
			list = append(list, n)
		}
	}
	return list
}
