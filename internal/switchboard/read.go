package switchboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"peermux/internal/frame"
	"peermux/internal/watch"
	"peermux/mailbox"
)

// ReadRequest reads mail.
type ReadRequest struct {
	IncludeSeen bool          // also what was shown before
	Limit       int           // messages at most; 0 is DefaultRead
	Wait        time.Duration // for mail to come when there is none
	Via         string        // what is recorded as the way it was shown
	Peek        bool          // show without recording
	// Box reads another box than the actor's own ones; the caller has checked
	// that the actor may.
	Box string
}

// Limits of one read.
const (
	DefaultRead = 20
	MaxRead     = 200
	// readBytes is the size of the bodies in one result. Codex cuts the middle
	// out of a tool result at about 48 KB (0.171.0), Claude Code hides more than
	// about 100 KB behind a preview. The first message is always whole.
	readBytes = 36 << 10
)

// Read takes what is unshown in the actor's box, in its repository's and in the
// feeds it receives.
func (b *Board) Read(ctx context.Context, a Actor, r ReadRequest) (ReadResult, Delivery, error) {
	if err := a.identified(); err != nil {
		return ReadResult{}, nil, err
	}
	if r.Limit <= 0 {
		r.Limit = DefaultRead
	}
	r.Limit = min(r.Limit, MaxRead)
	rd := &reading{board: b, actor: a, request: r, left: r.Limit, bytes: readBytes, mail: []Mail{}, boxes: b.readable(a, r)}
	if err := rd.takeOrWait(ctx); err != nil {
		return ReadResult{}, nil, err
	}
	res := ReadResult{OK: true, Messages: rd.mail, Count: len(rd.mail), More: rd.more}
	if len(rd.mail) > 0 {
		res.About = frame.Closing
	}
	if rd.newer > 0 {
		res.Notes = append(res.Notes, fmt.Sprintf("%d of the messages that are left were %s; reading again will not bring them", rd.newer, newerFormat))
	}
	open, err := rd.openWork()
	if err != nil {
		return ReadResult{}, nil, rd.giveBack(err)
	}
	res.OpenWork = open
	return res, rd.claims, nil
}

// readBox is one box or feed that is read.
type readBox struct {
	key   string
	scope string // "", repo, project, group, global, repos
	feed  bool
	via   string // box whose owner reads a feed
	start bool   // a first look at the feed begins at its beginning
}

// readable lists what the actor reads, its own box first.
func (b *Board) readable(a Actor, r ReadRequest) []readBox {
	if r.Box != "" {
		return []readBox{{key: b.Store.Resolve(r.Box), scope: scopeOf(r.Box)}}
	}
	own := b.Store.Resolve(a.Box)
	boxes := []readBox{{key: own}}
	if !a.isSession() {
		return boxes
	}
	if _, path, ok := b.repository(a); ok {
		key := mailbox.RepoKey(path)
		boxes = append(boxes, readBox{key: key, scope: "repo"},
			readBox{key: mailbox.FeedRepos, scope: ScopeRepos, feed: true, via: key, start: true})
	}
	for _, f := range b.feeds(a) {
		boxes = append(boxes, readBox{key: f.Key, scope: f.Scope, feed: true, via: own})
	}
	return boxes
}

func scopeOf(key string) string {
	if len(key) > 0 && key[0] == 'r' {
		return "repo"
	}
	return ""
}

// reading is one read under way.
type reading struct {
	board   *Board
	actor   Actor
	request ReadRequest
	boxes   []readBox
	mail    []Mail
	claims  deliveries
	more    int
	newer   int // of more: in a format that this peermux does not know
	left    int // messages that still fit
	bytes   int
}

// takeOrWait takes what is there, and when that is nothing waits for more.
func (rd *reading) takeOrWait(ctx context.Context) error {
	if rd.request.Wait <= 0 {
		return rd.take()
	}
	kicks := make(chan struct{}, 1)
	for _, box := range rd.boxes {
		path := mailbox.JournalPath(rd.board.Home, box.key)
		if box.feed {
			path = mailbox.FeedPath(rd.board.Home, box.key)
		}
		events, stop := rd.board.Watch.File(path)
		defer watch.Forward(kicks, events, stop)()
	}
	deadline := time.NewTimer(rd.request.Wait)
	defer deadline.Stop()
	for {
		if err := rd.take(); err != nil || len(rd.mail) > 0 {
			return err
		}
		select {
		case <-kicks:
		case <-deadline.C:
			return rd.take()
		case <-ctx.Done():
			return rd.giveBack(ctx.Err())
		}
	}
}

// giveBack releases everything when the read fails half way.
func (rd *reading) giveBack(err error) error {
	if e := rd.claims.Release(); e != nil {
		return storage(e)
	}
	return AsError(err)
}

func (rd *reading) take() error {
	rd.more, rd.newer = 0, 0
	for _, box := range rd.boxes {
		if err := rd.takeFrom(box); err != nil {
			return rd.giveBack(err)
		}
	}
	return nil
}

func (rd *reading) takeFrom(box readBox) error {
	if rd.request.IncludeSeen {
		if err := rd.addSeen(box); err != nil {
			return err
		}
	}
	items, more, err := rd.unshown(box)
	if err != nil {
		return err
	}
	rd.more += more
	for _, it := range items {
		rd.mail = append(rd.mail, mailOf(it, box.scope))
	}
	return nil
}

// unshown claims, or with Peek only looks at, what waits in one box.
func (rd *reading) unshown(box readBox) (items []mailbox.Item, more int, err error) {
	s, r := rd.board.Store, rd.request
	if rd.left == 0 {
		// Full: only count. A limit of none would be no limit.
		r.Peek = true
	}
	me := rd.actor.Process
	if box.feed {
		o := mailbox.FeedOptions{
			Self: rd.actor.SessionID, Via: r.Via, PID: me.PID, Start: me.Start, Backfill: rd.board.backfill(),
			FromStart: box.start, Limit: rd.left, Fits: rd.fits,
		}
		if r.Peek {
			items, more, err = s.FeedPeek(box.key, box.via, o)
		} else {
			var claim *mailbox.Claim
			if claim, err = s.FeedNew(box.key, box.via, o); err == nil {
				items, more = rd.keep(claim)
			}
		}
	} else {
		o := mailbox.ClaimOptions{
			Reader: rd.actor.reader(), Via: r.Via, PID: me.PID, Start: me.Start, Limit: rd.left, Fits: rd.fits,
		}
		if r.Peek {
			items, more, err = s.Peek(box.key, o)
		} else {
			var claim *mailbox.Claim
			if claim, err = s.Claim(box.key, o); err == nil {
				items, more = rd.keep(claim)
			}
		}
	}
	if rd.left == 0 {
		return nil, more + len(items), err
	}
	rd.left = max(0, rd.left-len(items))
	return items, more, err
}

func (rd *reading) keep(claim *mailbox.Claim) ([]mailbox.Item, int) {
	if len(claim.Messages) > 0 {
		rd.claims = append(rd.claims, claim)
	}
	rd.newer += claim.Newer
	return claim.Messages, claim.More
}

// fits keeps a result below what clients cut; the first message always goes.
func (rd *reading) fits(m mailbox.Message) bool {
	first := rd.bytes == readBytes
	rd.bytes -= len(m.Body) + len(m.Subject)
	return first || rd.bytes >= 0
}

// addSeen adds what was shown before, the latest that fit, oldest first.
func (rd *reading) addSeen(box readBox) error {
	items, err := rd.seen(box)
	if err != nil {
		return err
	}
	from := len(items)
	for from > 0 && rd.left > 0 && rd.fits(items[from-1].Message) {
		from--
		rd.left--
	}
	for _, it := range items[from:] {
		m := mailOf(it, box.scope)
		if n := len(it.Shown); n > 0 {
			m.ShownAt = timePtr(it.Shown[n-1].At)
		}
		rd.mail = append(rd.mail, m)
	}
	return nil
}

func (rd *reading) seen(box readBox) ([]mailbox.Item, error) {
	s := rd.board.Store
	if box.feed {
		st, err := s.FeedState(box.key)
		if err != nil {
			return nil, err
		}
		reader, err := s.State(box.via)
		if err != nil {
			return nil, err
		}
		cursor := reader.Cursors[box.key]
		return slices.DeleteFunc(st.Items, func(it mailbox.Item) bool {
			return it.ID > cursor || it.Closed != "" || it.From.SessionID != "" && it.From.SessionID == rd.actor.SessionID
		}), nil
	}
	lineage := []string{box.key}
	if rd.request.Box == "" && box.scope == "" {
		var err error
		if lineage, err = s.Lineage(box.key); err != nil {
			return nil, err
		}
	}
	var items []mailbox.Item
	known := map[string]bool{}
	for _, key := range slices.Backward(lineage) {
		st, err := s.State(key)
		if err != nil {
			return nil, err
		}
		for _, it := range st.Items {
			shown := len(it.Shown) > 0
			if box.scope == "repo" {
				shown = it.ShownTo(rd.actor.reader()) || it.Closed != "" || it.Answered != ""
			}
			if shown && !known[it.ID] {
				known[it.ID] = true
				items = append(items, it)
			}
		}
	}
	return items, nil
}

func (rd *reading) openWork() (int, error) {
	open := 0
	for _, box := range rd.boxes {
		if box.feed {
			continue
		}
		items, err := rd.board.Store.OpenWork(box.key)
		if err != nil {
			return 0, storage(err)
		}
		open += len(items)
	}
	return open, nil
}

// newerFormat is what is said instead of guessing what a message means.
const newerFormat = "written by a newer peermux, in a format that this one does not know; tell your user to update peermux here and to restart this session"

// bodyOf is the text of a message, ready to be shown.
func bodyOf(m mailbox.Message) string {
	if m.V > frame.Version {
		return "(" + newerFormat + ")"
	}
	return frame.Clean(m.Body)
}

// mailOf is a message as a reader gets it.
func mailOf(it mailbox.Item, scope string) Mail {
	if scope == "" {
		scope = it.Scope
	}
	return Mail{
		MessageID: it.ID, Kind: string(it.Kind), From: peerOf(it.From), Subject: frame.Line(it.Subject, 200),
		Body: bodyOf(it.Message), SentAt: it.SentAt, ReplyTo: it.ReplyTo, Scope: scope, Tag: it.Tag,
		Urgency: it.Urgency, AnswerWith: answerWith(it, scope == "repo"), PossiblySeen: it.PossiblySeen,
		Answered: it.Answered, Closed: it.Closed,
	}
}
