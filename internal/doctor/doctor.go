// Package doctor examines a peermux home and the clients around it and says what
// is wrong, on what evidence, and which command mends it. It looks for effects,
// not files: a hook counts when it has fired, trust when Codex itself confirms
// it, a session when its processes live.
//
// Examine changes nothing (Codex keeps its own record of having been started).
// Fix does only what can harm nobody: it tightens modes, removes what the dead
// left behind and compacts journals. Mail that is unshown or open is never
// touched.
package doctor

import (
	"context"
	"time"

	"peermux/hookscripts"
	"peermux/internal/switchboard"
)

// Severity of a finding, mildest first.
type Severity string

const (
	OK      Severity = "ok"
	Note    Severity = "note"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Finding is one thing that was looked at.
type Finding struct {
	Severity Severity `json:"severity"`
	Area     string   `json:"area"` // claude, codex, sessions, tmux, mail, files, system
	What     string   `json:"what"`
	Evidence string   `json:"evidence,omitempty"`
	Mend     string   `json:"mend,omitempty"` // a command, or what the person can do
	Fixable  bool     `json:"fixable,omitempty"`
}

// Patient is what is examined.
type Patient struct {
	Board  *switchboard.Board
	Client hookscripts.Env
	Now    func() time.Time
	WSL    bool // this machine is Linux inside Windows
}

// Examine runs every check. A check that cannot look says so in a finding; it
// never hides the others.
func Examine(ctx context.Context, p Patient) []Finding {
	e := &examination{Patient: p, ctx: ctx}
	e.files()
	e.configs()
	for _, client := range hookscripts.Clients() {
		e.client(client)
	}
	e.sessions()
	e.tmux()
	e.mail()
	e.system()
	e.wsl()
	e.environment()
	return e.findings
}

// Worst is the gravest severity among the findings.
func Worst(findings []Finding) Severity {
	rank := map[Severity]int{OK: 0, Note: 1, Warning: 2, Error: 3}
	worst := OK
	for _, f := range findings {
		if rank[f.Severity] > rank[worst] {
			worst = f.Severity
		}
	}
	return worst
}

type examination struct {
	Patient
	ctx      context.Context
	findings []Finding
}

func (e *examination) find(f Finding) { e.findings = append(e.findings, f) }

func (e *examination) cannot(area, what string, err error) {
	e.find(Finding{Severity: Warning, Area: area, What: "could not look at " + what, Evidence: err.Error()})
}
