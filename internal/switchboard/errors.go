package switchboard

import (
	"encoding/json"
	"fmt"
)

// Error is a refusal: nothing was changed unless the message says so. Code is
// one of the codes below; Message says what happened and what to do next.
// Details stand beside them in the result, under the keys that newError's
// callers document.
type Error struct {
	Code    string
	Message string
	Details map[string]any
}

func (e *Error) Error() string { return e.Message }

// MarshalJSON is the refusal as a result: ok, error and message first, then the
// details.
func (e *Error) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		OK      bool   `json:"ok"`
		Error   string `json:"error"`
		Message string `json:"message"`
	}{false, e.Code, e.Message})
	if err != nil || len(e.Details) == 0 {
		return head, err
	}
	details, err := json.Marshal(e.Details)
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), details[1:]...), nil
}

// The error codes of DESIGN.md §5.
const (
	CodeUnknownTarget   = "unknown_target"
	CodeAmbiguousTarget = "ambiguous_target"
	CodeOutOfScope      = "out_of_scope"
	CodeSelfTarget      = "self_target"
	CodeBodyTooLarge    = "body_too_large"
	CodeEmptyBody       = "empty_body"
	CodeNoIdentity      = "no_identity"
	CodeUnknownMessage  = "unknown_message"
	CodeNotYours        = "not_yours"
	CodeAlreadyClosed   = "already_closed"
	CodeWouldDeadlock   = "would_deadlock"
	CodePeerGone        = "peer_gone"
	CodeNoGroup         = "no_group"
	CodeRateLimited     = "rate_limited"
	CodeStorageError    = "storage_error"
	CodeBadRequest      = "bad_request"
)

// Codes lists every code, for schemas and documents.
func Codes() []string {
	return []string{
		CodeUnknownTarget, CodeAmbiguousTarget, CodeOutOfScope, CodeSelfTarget, CodeBodyTooLarge,
		CodeEmptyBody, CodeNoIdentity, CodeUnknownMessage, CodeNotYours, CodeAlreadyClosed,
		CodeWouldDeadlock, CodePeerGone, CodeNoGroup, CodeRateLimited, CodeStorageError, CodeBadRequest,
	}
}

func refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// with adds a detail and returns e.
func (e *Error) with(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// storage wraps what the disk said.
func storage(err error) *Error {
	return refuse(CodeStorageError, "%v; nothing was sent or changed; check the disk and the permissions of the peermux home", err)
}
