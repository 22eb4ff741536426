// Package agentsim is a stand-in for a coding agent in a terminal: a real process
// that behaves, where peermux meets it, like Claude Code 2.1.328 or Codex 0.171.0.
// The demo and the process-level tests run it where the real clients cannot be had.
//
// # What is the client's
//
// A composer in raw mode that takes bracketed paste and Enter, drawn so that the
// wake gate recognises it; Claude's session file with its status, or Codex's
// thread lock; a transcript; an MCP client that starts `peermux mcp` with the
// environment and the _meta that the client sends; the hooks, run through a shell
// with the client's payloads; Claude's watch on the bell, whose hook wakes it.
//
// # What is scripted
//
// The model is [mockmodel.Decide] on the conversation so far: the prompt says in
// the script language what to do, and rules say what to do when mail arrives.
//
// # Files
//
// Each agent appends what happens to it to one log of JSON lines ([Event]), which
// is what tests and the demo look at ([Agent.Wait]). Only the agent writes it; a
// killed agent leaves whole lines. Everything else it writes lies in the home
// folder that its environment names, as with the real clients.
package agentsim
