// Package mockmodel stands in for the models behind the coding agents: one
// server on loopback that speaks Anthropic's Messages API (Claude Code 2.1.328)
// and OpenAI's Responses API (Codex 0.171.0), so that the real clients run with
// no account and no network, and everything they sent to the model can be looked
// at.
//
// # What it answers
//
// The prompt itself says what the model shall do, in a small script language:
//
//	[[delay SECONDS]]     wait before the next answer
//	[[tool NAME {json}]]  call a tool; ends this answer
//	[[par NAME {json}]]   one more tool call in the answer that the next tool or say ends
//	[[say TEXT]]          answer TEXT; ends this answer
//	[[fail TEXT]]         instead of an answer the error TEXT, which ends the turn
//
// Answer k after the message that holds the script plays step k, so the server
// keeps no state of a conversation. A [Rule] plays its script when a text reaches
// the model that was not written for a mock, such as mail from a peer. Without
// either the answer is "OK <prompt>", after a tool result "DONE result=<result>".
//
// # What it writes
//
// Every model request is kept in memory and, when a folder was given, written to
// NNNN.json there; index.log beside it has one line an event. Nobody else writes
// the folder and a crash leaves at worst a missing last file.
//
// The clients' proxy variables should point at the server too: whatever they try
// to reach beyond loopback is refused and remembered ([Server.Refused]).
package mockmodel
