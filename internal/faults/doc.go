// Package faults holds nothing but tests: it proves what package mailbox promises,
// with real processes that are killed, starved of disk, and raced.
//
// Each test starts this package's own test program again in the roles of senders,
// readers, hooks, compactors, movers and closers (see worker_test.go). Workers say
// on their standard output what was acknowledged to them, what they showed, and
// what they recorded; the test compares that with the promises:
//
//   - an acknowledged message is shown;
//   - no more often than once, and once more for each reader that was killed
//     between showing it and recording it;
//   - in its sender's order, and whole;
//   - a task is closed once, and its requester told once;
//   - no lock outlives its process.
//
// Beside that it looks at homes as they become: full ones (TestScale), old ones
// (TestFiftyDays), and those of other releases and other users.
//
// By default the tests take seconds. PEERMUX_STRESS=1 makes it thousands of kills
// and 16 writers of 1,000 messages, and takes minutes:
//
//	PEERMUX_STRESS=1 go test -v -timeout 60m ./internal/faults
package faults
