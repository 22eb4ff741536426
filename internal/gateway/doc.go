// Package gateway is the door for apps: programs that are no agents (a voice
// assistant, a phone bridge, a CI job) and talk to sessions by files alone.
//
// # Contract
//
// docs/gateway.md is the reference for those who write an app. In short: each app
// has a folder, the door, and in it one folder for each live session in its
// reach, <name>--<short id>/, with session.json, status, in/ and out/. The app
// drops in/<ULID>.md; it becomes <ULID>.seen.md when the session's box has taken
// it, or <ULID>.bad.md beside <ULID>.why.txt when it cannot be taken. What the
// session sends to app:NAME becomes out/<ULID>.md, which the app deletes.
//
// The mail itself is in boxes (package mailbox) like all mail: a drop is appended
// to the session's box, and out/ is filled from the app's box a-…. So this package
// keeps no mail of its own, and what it writes can be made again.
//
// # Files
//
//	$PEERMUX_HOME/gateway.json              the apps, written by `peermux gateway`
//	$PEERMUX_HOME/locks/gateway             held while gateway.json changes
//	$PEERMUX_HOME/locks/gateway-<box>       held while anybody works in a door
//	DOOR/.active                            when the app last did something
//	DOOR/out/                               from senders that have no folder
//	DOOR/<folder>/…                         see docs/gateway.md
//	DOOR/gone/<folder>/…                    ended sessions with uncollected mail
//	in/.<ULID>.taking                       a drop that is being taken
//	out/.<ULID>.out                         a message that is about to appear
//	out/.<ULID>.back                        a message that is being withdrawn
//	out/.waiting                            id of the waiting message that is out
//
// # Who does what
//
// The MCP server of each session runs [Serve]: it keeps its session's folder,
// takes its drops, fills out/ from the app's box, and removes the folders of the
// dead. All of it happens under the door's lock, so of several servers one takes
// a file. Commands do the same work once.
//
// # Exactly once
//
// A drop is first renamed to .taking, so that nobody can change its name's content
// under us, then appended (fsynced) under its own ULID as the message's id, then
// renamed to .seen.md. Whoever finds a .taking file begins again; the box knows the
// id and takes nothing twice. A message for the app is written to .out and synced,
// recorded as shown in the journal, and renamed. Whoever finds an .out file asks the
// journal: shown, it is renamed; not shown, it is made again.
package gateway
