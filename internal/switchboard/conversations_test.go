package switchboard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"peermux/internal/switchboard"
	"peermux/internal/transcript"
	"peermux/mailbox"
	"peermux/registry"
)

// newReadingBench is a bench whose clients inherit its home: their transcripts
// are looked for where their own environment says.
func newReadingBench(t *testing.T) *bench {
	t.Helper()
	k := newBench(t)
	t.Setenv("HOME", k.env["HOME"])
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("CODEX_HOME", "")
	return k
}

// words are lines of a Claude transcript, as pairs of who and what.
func (k *bench) words(id, dir string, pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		stop := ""
		if pairs[i] == "assistant" {
			stop = `,"id":"m","stop_reason":"end_turn"`
		}
		fmt.Fprintf(&b, `{"type":%q,"sessionId":%q,"uuid":"u%d","cwd":%q,"timestamp":"2026-01-02T03:04:%02dZ","message":{"role":%q,"content":%q%s}}`+"\n",
			pairs[i], id, i, dir, i, pairs[i], pairs[i+1], stop)
	}
	return b.String()
}

// converse writes a transcript of a session that ran in dir.
func (k *bench) converse(id, dir string, pairs ...string) string {
	k.t.Helper()
	file := transcript.ClaudePath(filepath.Join(k.env["HOME"], ".claude"), dir, id)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(k.words(id, dir, pairs...)), 0o600); err != nil {
		k.t.Fatal(err)
	}
	return file
}

func (k *bench) add(file, lines string) {
	k.t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(lines)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

const (
	pastID  = "0c5465f4-e7c4-4569-a621-bf420d965a8f"
	otherID = "0c5465ff-e7c4-4569-a621-bf420d965a8f"
)

func TestConversations(t *testing.T) {
	k := newReadingBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	elsewhere := filepath.Join(filepath.Dir(k.dir), "elsewhere")
	worktree := filepath.Join(filepath.Dir(k.dir), "worktree")
	for _, dir := range []string{elsewhere, worktree, filepath.Join(k.dir, ".git", "worktrees", "w")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(k.dir, ".git", "worktrees", "w", "gitdir"), []byte(worktree+"/.git\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.converse(pastID, worktree, "user", "in the worktree")
	k.converse(otherID, elsewhere, "user", "another project")
	ann.entry.SessionID = "5e9a09b5-329e-4bac-a5c9-3bffd65e3703"
	ann.entry.Transcript = k.converse(ann.entry.SessionID, k.dir, "user", "I am live", "assistant", "yes")
	ann.put()
	peers := k.join("cid")
	peers.entry.Transcript = filepath.Join(k.dir, "peers.jsonl")
	if err := os.WriteFile(peers.entry.Transcript, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	peers.put()

	res, err := k.board.Conversations(context.Background(), ben.actor(), "")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]switchboard.ConversationRow{}
	for _, row := range res.Conversations {
		rows[row.SessionID] = row
	}
	if len(rows) != 4 || len(res.Conversations) != 4 {
		t.Fatalf("got %+v", res.Conversations)
	}
	if past := rows[pastID]; past.Live || past.FirstPrompt != "in the worktree" || !strings.HasSuffix(past.Resume, "claude --resume "+pastID) || past.AgeSeconds == nil {
		t.Errorf("past: %+v", past)
	}
	if live := rows[ann.entry.SessionID]; !live.Live || live.Name != "ann" || live.Resume != "" || live.FirstPrompt != "I am live" {
		t.Errorf("live: %+v", live)
	}
	if fresh := rows[ben.entry.SessionID]; !fresh.Live || fresh.Name != "ben" || fresh.File != "" {
		t.Errorf("live and never prompted: %+v", fresh)
	}
	if woken := rows[peers.entry.SessionID]; !woken.Live || woken.Size != 3 {
		t.Errorf("live, and only peers have spoken in it: %+v", woken)
	}
	_, err = k.board.Conversations(context.Background(), ben.actor(), elsewhere)
	refused(t, err, switchboard.CodeOutOfScope)
	person := ben.actor()
	person.Kind = registry.ToUser
	res, err = k.board.Conversations(context.Background(), person, elsewhere)
	if err != nil || len(res.Conversations) != 1 || res.Conversations[0].SessionID != otherID {
		t.Errorf("a person looks at another project: %+v, %v", res, err)
	}
}

func TestReadPastConversation(t *testing.T) {
	k := newReadingBench(t)
	ann := k.join("ann")
	file := k.converse(pastID, k.dir, "user", "long ago", "assistant", "yes")
	read := func(r switchboard.ReadSessionRequest) (switchboard.SessionRead, error) {
		return k.board.ReadSession(context.Background(), ann.actor(), r)
	}
	for _, name := range []string{pastID, pastID[:6]} {
		res, err := read(switchboard.ReadSessionRequest{Name: name})
		if err != nil || len(res.Turns) != 2 || res.SessionID != pastID || !strings.Contains(res.Source, file) || !strings.Contains(res.Source, "past conversation") {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		if strings.Contains(strings.Join(res.Notes, " "), "no proof") {
			t.Error("a past conversation is spoken of as if its peer could answer")
		}
	}
	_, err := read(switchboard.ReadSessionRequest{Name: pastID[:5]})
	refused(t, err, switchboard.CodeUnknownTarget)
	_, err = read(switchboard.ReadSessionRequest{Name: pastID, Mode: "pane"})
	refused(t, err, switchboard.CodeBadRequest)
	k.converse(otherID, k.dir, "user", "another")
	_, err = read(switchboard.ReadSessionRequest{Name: pastID[:6]})
	refused(t, err, switchboard.CodeAmbiguousTarget)
	if res, err := read(switchboard.ReadSessionRequest{Name: pastID}); err != nil || res.SessionID != pastID {
		t.Errorf("the whole id: %+v, %v", res, err)
	}
	_, err = k.board.FindWords(context.Background(), ann.actor(), "user", "")
	refused(t, err, switchboard.CodeBadRequest)
	_, err = k.board.FindWords(context.Background(), ann.actor(), "nobody", "")
	refused(t, err, switchboard.CodeUnknownTarget)
	ben := k.join("ben")
	_, err = k.board.FindWords(context.Background(), ann.actor(), ben.entry.Name, "")
	refused(t, err, switchboard.CodeBadRequest)
}

// The age comes from the newest record, whatever the file's own time is.
func TestReadAge(t *testing.T) {
	k := newReadingBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.entry.Transcript = k.converse(ben.entry.SessionID, k.dir, "user", "hello")
	ben.put()
	res, err := k.board.ReadSession(context.Background(), ann.actor(), switchboard.ReadSessionRequest{Name: "ben"})
	if err != nil || res.ModifiedAt == nil || res.ModifiedAt.Year() != 2026 || res.ModifiedAt.Month() != 1 || *res.AgeSeconds < 0 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A session is followed through its next prompts, into the conversation after
// /clear, and to its end.
func TestFollow(t *testing.T) {
	k := newReadingBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.entry.Transcript = k.converse(ben.entry.SessionID, k.dir, "user", "old")
	ben.put()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w, err := k.board.FindWords(ctx, ann.actor(), "ben", "")
	if err != nil {
		t.Fatal(err)
	}
	tail, err := k.board.Tail(ctx, w, switchboard.ReadSessionRequest{})
	if err != nil || len(tail.Turns) != 1 {
		t.Fatalf("%+v, %v", tail, err)
	}
	steps := map[string]func(){
		"new": func() { k.add(ben.entry.Transcript, k.words(ben.entry.SessionID, k.dir, "assistant", "answer")) },
		"answer": func() {
			ben.entry.SessionID, ben.entry.Transcript = pastID, k.converse(pastID, k.dir, "user", "cleared")
			ben.entry.Box = mailbox.SessionKey(pastID)
			ben.put()
		},
		"cleared": func() {
			kill(t, ben.client)
			kill(t, ben.server)
			if err := os.Remove(filepath.Join(k.home, "sessions", fmt.Sprint(ben.entry.PID)+".json")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		},
	}
	k.add(ben.entry.Transcript, k.words(ben.entry.SessionID, k.dir, "user", "new"))
	var got []string
	err = k.board.Follow(ctx, w, tail.End, switchboard.ReadSessionRequest{}, func(turn transcript.Turn) error {
		got = append(got, turn.Text)
		if step := steps[turn.Text]; step != nil {
			step()
		}
		return nil
	})
	if err != nil || strings.Join(got, " ") != "new answer cleared" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFollowIsCancelled(t *testing.T) {
	k := newReadingBench(t)
	ann := k.join("ann")
	k.converse(pastID, k.dir, "user", "old")
	ctx, cancel := context.WithCancel(context.Background())
	w, err := k.board.FindWords(ctx, ann.actor(), pastID, "")
	if err != nil {
		t.Fatal(err)
	}
	err = k.board.Follow(ctx, w, 0, switchboard.ReadSessionRequest{}, func(transcript.Turn) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
