// Package detect finds out which session a process serves: the client it runs
// under, the session's id and its transcript. It proves or abstains; nothing in
// it picks the most likely.
//
// [Identify] runs every strategy in a fixed order and explains each: what fired,
// what abstained and between which candidates, what did not apply. The first one
// that fires decides. It only reads: the files of the clients, hook drops, and
// facts about processes, all of which come in through [Facts], so that recorded
// trees can stand in for the machine.
package detect

import (
	"encoding/json"
	"os"
	"time"

	"peermux/internal/proc"
	"peermux/internal/proc/ps"
	"peermux/internal/transcript"
	"peermux/registry"
)

// Strategies, in the order of their strength.
const (
	Meta           = "meta"
	ClientRegistry = "client_registry"
	HookDrop       = "hook_drop"
	EnvVariable    = "env"
	Fingerprint    = "fingerprint"
	Claim          = "claim"
)

// Outcomes of a strategy.
const (
	Fired         = "fired"          // names the session
	Abstained     = "abstained"      // could apply, but proves nothing
	NotApplicable = "not_applicable" // says nothing about this client
	Disagrees     = "disagrees"      // names another session than a stronger one
)

// System is what the machine tells: facts about processes, and when files were
// born. A recorded one stands in for it in tests.
type System interface {
	Stat(pid int) (proc.Info, error)
	Exe(pid int) string
	Args(pid int) []string
	CWD(pid int) string
	Env(pid int, keys ...string) map[string]string
	List() ([]proc.Info, error)
	// Files lists the paths of the files that a process has open.
	Files(pid int) ([]string, error)
	// Born is when a file was created; false where the file system does not tell.
	Born(file string) (time.Time, bool)
}

// ClientInfo is what the client says of itself in the MCP handshake. It is empty
// in a program that an agent runs in its shell.
type ClientInfo struct {
	Name    string
	Version string
}

// Facts is all that detection knows of the process it speaks for.
type Facts struct {
	Self proc.Info
	// Ancestors of Self, the parent first.
	Ancestors []proc.Info
	Env       func(string) string
	// Home is the user's home folder.
	Home       string
	Registry   *registry.Registry
	ClientInfo ClientInfo
	// Meta is the _meta object of the last tools/call, if any.
	Meta json.RawMessage
	// Claim is the session id the agent claimed by itself, if any.
	Claim  string
	Now    time.Time
	CWD    string
	System System // nil: this machine
}

// Gather fills in what the kernel knows about the calling process.
func Gather(env func(string) string, home string, r *registry.Registry, now time.Time) (Facts, error) {
	self, err := proc.Self()
	if err != nil {
		return Facts{}, err
	}
	ancestors, err := proc.Ancestors(self.PID)
	if err != nil {
		return Facts{}, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return Facts{}, err
	}
	return Facts{Self: self, Ancestors: ancestors, Env: env, Home: home, Registry: r, Now: now, CWD: cwd}, nil
}

// Outcome is what one strategy came to.
type Outcome struct {
	Strategy   string   `json:"strategy"`
	Outcome    string   `json:"outcome"`
	SessionID  string   `json:"session_id,omitempty"`
	Transcript string   `json:"transcript,omitempty"`
	Reason     string   `json:"reason"`
	Candidates []string `json:"candidates,omitempty"`
}

// Diagnosis is the answer, with the reasons of all strategies.
type Diagnosis struct {
	// SessionID is empty when nothing proves one.
	SessionID string `json:"session_id,omitempty"`
	// Source is the strategy that decided.
	Source     string          `json:"source,omitempty"`
	Transcript string          `json:"transcript,omitempty"`
	Client     registry.Client `json:"client"`
	// ClientReason says how the client was recognised.
	ClientReason string `json:"client_reason"`
	// ClientName is the session's name in the client, if it has one.
	ClientName string    `json:"client_name,omitempty"`
	Outcomes   []Outcome `json:"outcomes"`
}

// Identify runs all strategies.
func Identify(f Facts) Diagnosis {
	if f.System == nil {
		f.System = machine{}
	}
	c := findClient(f)
	d := Diagnosis{Client: c.Client, ClientReason: c.how}
	outcomes := []Outcome{byMeta(f, c), byClientRegistry(c), byHookDrop(f, c), byEnv(f, c), {}, byClaim(f, c)}
	outcomes[4] = fingerprintUnless(outcomes, f, c)
	decide(&d, outcomes)
	d.Outcomes = outcomes
	if d.SessionID != "" && d.Transcript == "" {
		d.Transcript = transcriptOf(f, c, d.SessionID)
	}
	d.Client.Mode = mode(f, c, d.Transcript)
	if c.session != nil {
		d.ClientName = c.session.Name
	}
	return d
}

// fingerprintUnless looks at birth times only where nothing stronger speaks: a
// folder can hold thousands of transcripts, and Identify runs on every tool call.
func fingerprintUnless(stronger []Outcome, f Facts, c client) Outcome {
	for _, o := range stronger {
		if o.Outcome == Fired {
			return Outcome{Strategy: Fingerprint, Outcome: NotApplicable, Reason: "not needed: " + o.Strategy + " names the session"}
		}
	}
	return byFingerprint(f, c)
}

// decide takes the strongest strategy that fired and marks those that contradict
// it. A claim is the agent's own word: it beats what can be stale or fits by
// chance, and nothing else.
func decide(d *Diagnosis, outcomes []Outcome) {
	order := []int{0, 1, 2, 5, 3, 4}
	for _, i := range order {
		o := &outcomes[i]
		switch {
		case o.Outcome != Fired:
		case d.SessionID == "":
			d.SessionID, d.Source, d.Transcript = o.SessionID, o.Strategy, o.Transcript
		case o.SessionID != d.SessionID:
			o.Outcome = Disagrees
			o.Reason += "; " + d.Source + " proves " + d.SessionID
		}
	}
}

// machine is the one we run on.
type machine struct{}

func (machine) Stat(pid int) (proc.Info, error)    { return proc.Stat(pid) }
func (machine) Exe(pid int) string                 { return proc.Exe(pid) }
func (machine) Args(pid int) []string              { return proc.Args(pid) }
func (machine) CWD(pid int) string                 { return proc.CWD(pid) }
func (machine) List() ([]proc.Info, error)         { return ps.All() }
func (machine) Files(pid int) ([]string, error)    { return proc.Files(pid) }
func (machine) Born(file string) (time.Time, bool) { return transcript.BirthTime(file) }
func (machine) Env(pid int, keys ...string) map[string]string {
	return proc.Env(pid, keys...)
}
