package switchboard

import "time"

// The result structs are the contract of DESIGN.md §5: `peermux … --json` and
// the MCP tools print exactly these. A result that is returned is a success;
// failures are [Error]. The jsonschema tags are the descriptions that a model
// reads.

// Peer is a party of a message as a reader needs it.
type Peer struct {
	SessionID string `json:"session_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Client    string `json:"client,omitempty"`
	Project   string `json:"project,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Host      string `json:"host,omitempty"`
}

// WakeInfo says what was done to get the receiver to look.
type WakeInfo struct {
	Outcome string `json:"outcome" jsonschema:"submitted, native, not_needed, held, typed_not_submitted, no_route, failed, or off"`
	Reason  string `json:"reason,omitempty"`
	Route   string `json:"route,omitempty"`
}

// SendResult is what is known of a message right after it was stored.
type SendResult struct {
	OK              bool      `json:"ok"`
	MessageID       string    `json:"message_id,omitempty"`
	TargetSessionID string    `json:"target_session_id,omitempty"`
	Target          string    `json:"target,omitempty" jsonschema:"name of the receiver, or repo:, user:, app: and a name"`
	Outlook         string    `json:"outlook,omitempty" jsonschema:"shown_soon, woken, next_turn, held, or no_reader"`
	Why             string    `json:"why,omitempty" jsonschema:"what the outlook rests on"`
	Wake            *WakeInfo `json:"wake,omitempty"`
	Notes           []string  `json:"notes,omitempty" jsonschema:"what else the sender should know"`
}

// ReplyResult is a SendResult for the answer to a message, with what became of
// the message that was answered.
type ReplyResult struct {
	SendResult
	ReplyTo   string `json:"reply_to,omitempty"`
	Closed    bool   `json:"closed" jsonschema:"true when this reply closed the task"`
	StillOpen bool   `json:"still_open,omitempty" jsonschema:"true when the message is a task that is still open"`
}

// Answer is one answer to a question.
type Answer struct {
	MessageID    string    `json:"message_id"`
	From         Peer      `json:"from"`
	Body         string    `json:"body"`
	SentAt       time.Time `json:"sent_at"`
	Uncorrelated bool      `json:"uncorrelated,omitempty" jsonschema:"true: a plain message of the peer that came during the wait and does not name the question"`
}

// Asked is the state of one question at the end of a wait.
type Asked struct {
	Target    string  `json:"target"`
	MessageID string  `json:"message_id,omitempty" jsonschema:"id of the question; a late answer names it in reply_to"`
	Reply     *Answer `json:"reply,omitempty"`
	TimedOut  bool    `json:"timed_out,omitempty"`
	State     string  `json:"state,omitempty" jsonschema:"what became of the question so far: queued, shown, answered"`
	Error     string  `json:"error,omitempty"`
	Message   string  `json:"message,omitempty"`
}

// AskResult ends a wait.
type AskResult struct {
	OK              bool    `json:"ok"`
	MessageID       string  `json:"message_id,omitempty" jsonschema:"id of the question; a late answer names it in reply_to"`
	TargetSessionID string  `json:"target_session_id,omitempty"`
	Reply           *Answer `json:"reply,omitempty"`
	Replies         []Asked `json:"replies,omitempty" jsonschema:"one entry per target when targets was given"`
	TimedOut        bool    `json:"timed_out"`
	// Ended is why the wait ended without an answer although time was left:
	// turn_ended or held.
	Ended    string    `json:"ended,omitempty" jsonschema:"turn_ended: the peer's turn ended without an answer; held: the peer waits for its user"`
	State    string    `json:"state,omitempty" jsonschema:"what became of the question so far: queued, shown, answered"`
	Next     string    `json:"next,omitempty" jsonschema:"what will happen next and what to do"`
	WaitedMS int64     `json:"waited_ms"`
	Wake     *WakeInfo `json:"wake,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// Mail is a message as it is shown to a reader.
type Mail struct {
	MessageID    string     `json:"message_id"`
	Kind         string     `json:"kind" jsonschema:"note, ask, reply, task, result, or withdraw"`
	From         Peer       `json:"from"`
	Subject      string     `json:"subject,omitempty"`
	Body         string     `json:"body"`
	SentAt       time.Time  `json:"sent_at"`
	ReplyTo      string     `json:"reply_to,omitempty"`
	Scope        string     `json:"scope,omitempty" jsonschema:"empty for the session's own box; else repo, project, group, global or repos"`
	Tag          string     `json:"tag,omitempty" jsonschema:"kind of a broadcast, such as lock"`
	Urgency      string     `json:"urgency,omitempty"`
	AnswerWith   string     `json:"answer_with,omitempty" jsonschema:"the call that answers it"`
	PossiblySeen bool       `json:"possibly_seen,omitempty" jsonschema:"true when this message was put out before and may not have arrived"`
	ShownAt      *time.Time `json:"shown_at,omitempty" jsonschema:"when it was shown before"`
	Answered     string     `json:"answered,omitempty" jsonschema:"id of the answer"`
	Closed       string     `json:"closed,omitempty" jsonschema:"done, blocked or retracted"`
}

// ReadResult is a batch of mail.
type ReadResult struct {
	OK       bool     `json:"ok"`
	Messages []Mail   `json:"messages"`
	Count    int      `json:"count" jsonschema:"messages in this result"`
	More     int      `json:"more" jsonschema:"unshown messages that are left"`
	OpenWork int      `json:"open_work" jsonschema:"tasks not closed and questions not answered, see my_open_work"`
	About    string   `json:"about,omitempty" jsonschema:"how to take these messages"`
	Notes    []string `json:"notes,omitempty"`
}

// StatusResult is what became of a message.
type StatusResult struct {
	OK        bool       `json:"ok"`
	MessageID string     `json:"message_id"`
	State     string     `json:"state" jsonschema:"queued, shown, answered, done, blocked, retracted, or unknown"`
	Kind      string     `json:"kind,omitempty"`
	To        string     `json:"to,omitempty"`
	SentAt    *time.Time `json:"sent_at,omitempty"`
	ShownAt   *time.Time `json:"shown_at,omitempty"`
	Via       string     `json:"via,omitempty" jsonschema:"by which hook event or tool it was shown"`
	ShownTo   []string   `json:"shown_to,omitempty" jsonschema:"session ids, for a message that several read"`
	AnswerID  string     `json:"answer_id,omitempty"`
	Open      bool       `json:"open,omitempty" jsonschema:"true while a task is not closed or a question not answered"`
	Outlook   string     `json:"outlook,omitempty" jsonschema:"for a queued message: what to expect now"`
	Why       string     `json:"why,omitempty"`
}

// Work is a task or question that waits for this session.
type Work struct {
	MessageID string    `json:"message_id"`
	Kind      string    `json:"kind"`
	From      Peer      `json:"from"`
	Subject   string    `json:"subject,omitempty"`
	Body      string    `json:"body" jsonschema:"at most 2,000 characters; read_my_messages with include_seen gives the rest"`
	SentAt    time.Time `json:"sent_at"`
	Scope     string    `json:"scope,omitempty"`
	CloseWith string    `json:"close_with" jsonschema:"the call that brings it to an end"`
}

// WorkResult lists open work, oldest first.
type WorkResult struct {
	OK    bool   `json:"ok"`
	Work  []Work `json:"work"`
	Count int    `json:"count"`
	More  int    `json:"more,omitempty" jsonschema:"open work that did not fit"`
}

// CloseResult is what closing a task did.
type CloseResult struct {
	OK        bool   `json:"ok"`
	MessageID string `json:"message_id" jsonschema:"the task"`
	State     string `json:"state" jsonschema:"done or blocked"`
	ResultID  string `json:"result_id,omitempty" jsonschema:"the message that told the requester"`
	Outlook   string `json:"outlook,omitempty"`
	Why       string `json:"why,omitempty"`
}

// BroadcastResult says who can see a broadcast.
type BroadcastResult struct {
	OK        bool            `json:"ok"`
	MessageID string          `json:"message_id,omitempty"`
	Scope     string          `json:"scope,omitempty"`
	Tag       string          `json:"tag,omitempty"`
	InReach   []string        `json:"in_reach" jsonschema:"names of the sessions, or repositories, that will see it"`
	Wakes     []BroadcastWake `json:"wakes,omitempty" jsonschema:"with urgency high: what was done to get each session in reach to look"`
	Notes     []string        `json:"notes,omitempty"`
}

// BroadcastWake is what an urgent broadcast did to one session.
type BroadcastWake struct {
	Session   string `json:"session"`
	SessionID string `json:"session_id,omitempty"`
	Outcome   string `json:"outcome" jsonschema:"as of a message's wake, or not_allowed"`
	Reason    string `json:"reason,omitempty"`
	Route     string `json:"route,omitempty"`
}

// GroupResult is the group of a project after a change.
type GroupResult struct {
	OK      bool     `json:"ok"`
	Project string   `json:"project,omitempty"`
	Group   string   `json:"group"`
	Members []string `json:"members,omitempty" jsonschema:"project roots in the group"`
	Groups  []string `json:"groups,omitempty" jsonschema:"all groups"`
}

// RetractResult is the end of a broadcast.
type RetractResult struct {
	OK        bool   `json:"ok"`
	MessageID string `json:"message_id"`
	State     string `json:"state" jsonschema:"retracted"`
	Note      string `json:"note,omitempty"`
}
