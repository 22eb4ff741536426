package mailbox

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Feed is a feed that a session reads, and the scope that it is for.
type Feed struct{ Key, Scope string }

// Feeds are those that a session in a project reads: the project's own, its
// group's if it is in one, and the one of this machine. receive limits the scopes,
// as PEERMUX_RECEIVE has them, with commas between; empty is all.
func Feeds(root, group, receive string) []Feed {
	feeds := []Feed{{FeedProject(root), "project"}}
	if group != "" {
		feeds = append(feeds, Feed{FeedGroup(group), "group"})
	}
	feeds = append(feeds, Feed{FeedGlobal, "global"})
	if receive == "" {
		return feeds
	}
	var scopes []string
	for scope := range strings.SplitSeq(receive, ",") {
		scopes = append(scopes, strings.TrimSpace(scope))
	}
	return slices.DeleteFunc(feeds, func(f Feed) bool { return !slices.Contains(scopes, f.Scope) })
}

// Backfill is how far back a session that is new to a feed reads it, as
// PEERMUX_BACKFILL_MIN has it, in minutes; ok is false for what is no such number.
func Backfill(minutes string) (d time.Duration, ok bool) {
	n, err := strconv.Atoi(minutes)
	if err != nil || n < 0 {
		return 0, false
	}
	return time.Duration(n) * time.Minute, true
}
