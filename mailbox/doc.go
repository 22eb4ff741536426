// Package mailbox keeps the mail of agent sessions in plain files, so that what was
// accepted is shown once, in order, whatever dies in between, and its sender can
// find out. It knows nothing of MCP, of tmux, or of the clients.
//
// # Files
//
//	boxes/<key>/journal.jsonl   the mail of one recipient
//	boxes/<key>/journal.bad     lines that were no records, set aside
//	boxes/<key>/bell            rewritten to wake a client that watches it; see [BellPath]
//	feeds/<key>.jsonl           a journal that many read, each from its own place
//
// The journal is all there is. What is true of a message is what the records say,
// read in their order; there is no second store to disagree with it. Any program
// of this user may append to a journal that keeps these rules:
//
//   - One record is one line: a JSON object with the keys t, its type, and id.
//     This package writes these two first and nothing between them, `{"t":"msg",
//     "id":"…"`, which hooks recognise without decoding the line. Other spacings
//     and orders are read, too, just slower.
//   - A line is written with one call, its newline included, under an exclusive
//     flock on the journal itself. Who got the lock looks whether the path still
//     names the file it has locked, since compaction replaces and gc removes it,
//     and opens it anew when not.
//   - When the file does not end in a newline, a writer died in the middle of a
//     line: the next one closes that line first.
//
// A line that is no record is skipped, counted, and moved to journal.bad by the
// next compaction. It never hides its neighbours: a whole record behind a torn one
// on the same line is found. Types and keys that are not known are kept.
//
// # Records of a box
//
//	msg        a message, with the keys of [Message]; id is the message's
//	claim      a reader (pid, start) is about to show message id; claim is its token
//	shown      message id was put in front of the reader by, via a hook, tool or cli
//	unshown    what was said of message id until now is off, since its reader never
//	           had the text: it waits, and by names whom for in a repository's box
//	unclaim    the claim with this token is off: the text did not go out
//	answered   message id, received here or asked from here, has the answer answer
//	done       message id is closed, by whom, with the result answer
//	blocked    the same, without success
//	retracted  message id was taken back before it was shown
//	asked      the owner asked question id; the process (pid, start) waits until …
//	ask_ended  nobody waits for question id any more: how is timed_out, cancelled or
//	           peer_gone; answered ends it as well
//	sent       the owner's message id went to box
//	cursor     the owner has read feed up to message id
//	feed_claim, feed_unclaim
//	           as claim and unclaim, for feed up to message id
//	adopt      box starts to move here
//	moved      this box goes on as box; "" when it lives again by itself
//	adopted    all that waited in box is here now
//	went       message id went along to box; claim is the id of that move. Compaction
//	           writes it, since it keeps the latest move only
//	compacted  first line: compaction wrote this file; id is the greatest message id
//	           so far, hot the offset of the mark
//	hot        the mark: nothing before it waits or is open
//
// A feed has msg, retracted, compacted and hot; its ids rise along the file.
//
// # Showing
//
// [Store.Claim] is the only way to mail, for hook, tool, command and gateway alike,
// besides [Store.TakeAnswer] for the answer to an own question.
// It writes claims under the lock; the reader then writes its text out without the
// lock, and records it with [Claim.Shown] once all of it is out. Two readers never
// have the same message. A claim whose process is dead, or that is a minute old,
// holds nobody off: the message is given out again, marked PossiblySeen. So every
// message is shown at least once, and more than once only when a reader died, or
// stood still for a minute, between writing its text and recording it, or was told
// to have got nothing of it.
//
// That is told with [Store.Unshown] by who knows that a client has dropped a text
// that was out. The message waits again where it stood. A broadcast is put into the
// reader's box for that, and is mail from then on.
//
// The replies to a question that a living process waits for are kept for that
// process, which takes them with TakeAnswer. When it is dead, or has recorded the
// end of the question, they are mail like any other.
//
// In a repository's box (r-…) shown counts for one reader, the session by. A
// message there waits until it is answered or closed by anyone.
//
// # Durability
//
// Changes of one box that a process wants to make while it makes another one there
// share the next transaction: lock, reading and fsync.
//
// Append, Broadcast, Close, Complete, Move and Retract return after fsync; the name
// of a new journal is fsynced before its first record. Claims, showings, cursors
// and sent records are not fsynced: a power cut can make a message appear once
// more, never less. A write that fails half-way, as on a full disk, is taken back
// before its error is returned. What a crash leaves behind: at most a torn last
// line, a claim that nobody honours, a temporary file that the next compaction
// removes, or a move begun. That move the next one finishes who uses the box that it
// leads to, moves either box again, or says something of a message that is on its
// way. Until then nothing of it is compacted away or collected, and who only looks
// sees the box as it will be.
//
// # Compaction
//
// When the part behind the mark has grown past 256 KiB, or what is settled there past
// 64 KiB and an eighth of what stands before the mark, and past twice what was kept
// the last time, the writer that notices rewrites the journal: into a
// temporary file, fsync, rename, all under the lock. Messages that wait or are
// open, open questions, cursors, the latest moves and records of unknown types stay
// for ever. A settled message stays while it is younger than 30 days and among the
// last 1,000, in at most 4 MiB; the stricter limit counts. Settled records go before
// the mark, where hooks do not look, so old mail costs them nothing. A feed keeps
// its last 10,000 messages and 16 MiB, for 30 days; in the feed "repos" messages
// stay until they are retracted.
package mailbox
