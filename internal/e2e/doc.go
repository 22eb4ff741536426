// Package e2e drives the real Claude Code and Codex, pinned in clients/, against
// a mock model on loopback. Only the model is a mock: the hooks, the MCP server,
// the state files, the dialogs and the screens are the clients' own, and what is
// checked is what reached the model, each message exactly once.
//
// The tests have the build tag e2e: `make e2e` installs the clients, builds
// peermux and runs them.
//
// # How a test is written
//
// A bench has one home in which peermux was set up by `peermux setup`, one mock
// model and one tmux server on a socket of its own; sessions are started in it
// and shared by the cases that follow one another. Wait for a state, never for a
// time. Submit with say (bracketed paste, then Enter). Never press Enter before
// looking: it approves an open dialog.
//
// Everything that is started carries the bench's folder in its environment or
// runs a program from it, and is ended by that when the test is over, also when it
// is interrupted; what a killed run has left behind is ended by the next one.
package e2e
