package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/agentsim"
	"peermux/internal/frame"
	"peermux/registry"
)

// play runs the scenes, each on what the one before has left.
func (d *demo) play(ctx context.Context) error {
	d.page.heading("two sessions appear")
	web, err := d.start(ctx, "web", "claude", "shop", answering(nameQuestion, nameAnswer))
	if err != nil {
		return err
	}
	api, err := d.start(ctx, "api", "codex", "shop", answering(portQuestion, portAnswer))
	if err != nil {
		return err
	}
	if err := d.greet(ctx, api); err != nil {
		return err
	}
	if err := d.list(ctx, "web", "api"); err != nil {
		return err
	}
	d.page.heading("web asks api, which is idle, inside its own turn")
	if err := d.ask(ctx, web, api, portQuestion, portAnswer); err != nil {
		return err
	}
	d.page.heading("api asks web")
	if err := d.ask(ctx, api, web, nameQuestion, nameAnswer); err != nil {
		return err
	}
	d.page.heading("a message lands in the middle of a turn")
	if err := d.interrupt(ctx, web, api); err != nil {
		return err
	}
	d.page.heading("mail waits for a session that starts later")
	return d.later(ctx, web)
}

// greet gives an agent its first turn. Before it Codex tells nobody that it is idle
// (0.171.0), and peermux list has it as unknown.
func (d *demo) greet(ctx context.Context, a *agentsim.Agent) error {
	begin := time.Now()
	if err := a.Say(ctx, "Hello. [[say "+greeting+"]]"); err != nil {
		return err
	}
	said, err := a.Wait(ctx, begin, agentsim.Said, greeting)
	if err != nil {
		return err
	}
	d.page.at(said.At, a.Name, "", "", "is greeted and says: %s", said.Text)
	_, err = a.Wait(ctx, said.At, agentsim.Idle, "")
	return err
}

// list waits until peermux knows everybody to be idle and shows what a person then sees.
func (d *demo) list(ctx context.Context, names ...string) error {
	for {
		missing, err := d.notIdle(ctx, names)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("peermux list does not show as idle: %s: %w", strings.Join(missing, ", "), ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	text, err := d.command(ctx, "list")
	if err != nil {
		return err
	}
	d.page.command("peermux list", text)
	return nil
}

// notIdle are those of the names that peermux list does not show as idle.
func (d *demo) notIdle(ctx context.Context, names []string) ([]string, error) {
	out, err := d.command(ctx, "list", "--json")
	if err != nil {
		return nil, err
	}
	var res struct {
		Sessions []struct{ Name, Status string } `json:"sessions"`
	}
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		return nil, fmt.Errorf("peermux list --json: %w", err)
	}
	idle := map[string]bool{}
	for _, s := range res.Sessions {
		idle[s.Name] = s.Status == registry.Idle
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return idle[n] }), nil
}

// ask has from ask to, which is idle, and wait for the answer in its own turn.
func (d *demo) ask(ctx context.Context, from, to *agentsim.Agent, question, answer string) error {
	begin := time.Now()
	prompt := `Find out. [[tool mcp__peermux__ask_peer ` + object("target", to.Name, "body", question) + `]] [[say Good to know.]]`
	if err := from.Say(ctx, prompt); err != nil {
		return err
	}
	asked, err := from.Wait(ctx, begin, agentsim.Called, "ask_peer")
	if err != nil {
		return err
	}
	d.page.message(asked.At, from.Name, to.Name, question)
	woken, err := to.Wait(ctx, begin, agentsim.Prompt, "")
	if err != nil {
		return err
	}
	d.page.at(woken.At, to.Name, "", "", "is woken %s, %s after the question", wokenBy(woken), since(asked, woken))
	told, err := to.WaitTold(ctx, begin, question)
	if err != nil {
		return err
	}
	replied, err := to.Wait(ctx, told.At, agentsim.Called, "reply_to_message")
	if err != nil {
		return err
	}
	d.page.message(replied.At, to.Name, from.Name, answer)
	result, err := from.Wait(ctx, asked.At, agentsim.Result, answer)
	if err != nil {
		return err
	}
	if _, err := from.Wait(ctx, result.At, agentsim.Idle, ""); err != nil {
		return err
	}
	if _, err := to.Wait(ctx, told.At, agentsim.Idle, ""); err != nil {
		return err
	}
	if err := errors.Join(oneTurn(from, asked, result), once(to, question), once(from, answer)); err != nil {
		return err
	}
	d.page.check("%s has the answer in the same turn, %s after it asked", from.Name, since(asked, result))
	return nil
}

// wokenBy says in words what the first prompt of a woken agent shows.
func wokenBy(e agentsim.Event) string {
	if e.Text == frame.WakeLine {
		return "through its terminal"
	}
	return "by its bell"
}

// interrupt has from write to while it works.
func (d *demo) interrupt(ctx context.Context, from, to *agentsim.Agent) error {
	begin := time.Now()
	// The tests end once the message is on its way: that it came in the middle of
	// the turn must not hang on how fast this machine is.
	sentFile := filepath.Join(d.dir, "sent")
	tests := object("cmd", fmt.Sprintf("i=0; until [ -e %s ] || [ $i = 200 ]; do i=$((i+1)); sleep 0.05; done; echo 41 passed", sentFile))
	if err := to.Say(ctx, `Run the tests. [[tool exec_command `+tests+`]] [[say All tests pass.]]`); err != nil {
		return err
	}
	working, err := to.Wait(ctx, begin, agentsim.Called, "exec_command")
	if err != nil {
		return err
	}
	d.page.at(working.At, to.Name, "", "", "runs the tests")
	prompt := `Warn it. [[tool mcp__peermux__send_message ` + object("target", to.Name, "body", headsUp) + `]] [[say It knows.]]`
	if err := from.Say(ctx, prompt); err != nil {
		return err
	}
	sent, err := from.Wait(ctx, begin, agentsim.Called, "send_message")
	if err != nil {
		return err
	}
	d.page.message(sent.At, from.Name, to.Name, headsUp)
	if _, err := from.Wait(ctx, sent.At, agentsim.Result, `"shown_soon"`); err != nil {
		return err
	}
	if err := os.WriteFile(sentFile, nil, 0o600); err != nil {
		return err
	}
	told, err := to.WaitTold(ctx, working.At, headsUp)
	if err != nil {
		return err
	}
	said, err := to.Wait(ctx, working.At, agentsim.Said, "All tests pass.")
	if err != nil {
		return err
	}
	d.page.at(said.At, to.Name, "", "", "says: %s", said.Text)
	if _, err := to.Wait(ctx, said.At, agentsim.Idle, ""); err != nil {
		return err
	}
	if told.At.After(said.At) {
		return fmt.Errorf("%s was told only after its turn", to.Name)
	}
	if err := errors.Join(oneTurn(to, working, told), once(to, headsUp)); err != nil {
		return err
	}
	d.page.check("%s saw it before its turn was over, with its next tool result", to.Name)
	return nil
}

// later sends mail to a repository in which nobody works yet.
func (d *demo) later(ctx context.Context, from *agentsim.Agent) error {
	begin := time.Now()
	prompt := `Tell docs. [[tool mcp__peermux__send_message ` +
		object("target", "repo:"+filepath.Join(d.dir, "docs"), "body", changeNote) + `]] [[say Sent.]]`
	if err := from.Say(ctx, prompt); err != nil {
		return err
	}
	sent, err := from.Wait(ctx, begin, agentsim.Called, "send_message")
	if err != nil {
		return err
	}
	d.page.message(sent.At, from.Name, "repo:docs", changeNote)
	if _, err := from.Wait(ctx, sent.At, agentsim.Result, `"no_reader"`); err != nil {
		return err
	}
	d.page.line("", "", "", "nobody works in docs: it is kept")
	if _, err := from.Wait(ctx, sent.At, agentsim.Idle, ""); err != nil {
		return err
	}
	docs, err := d.start(ctx, "docs", "claude", "docs")
	if err != nil {
		return err
	}
	told, err := docs.WaitTold(ctx, time.Time{}, changeNote)
	if err != nil {
		return err
	}
	if err := once(docs, changeNote); err != nil {
		return err
	}
	d.page.check("docs was shown it as it started, %s after it was sent", since(sent, told))
	return nil
}

// once checks that text reached an agent's model exactly once.
func once(a *agentsim.Agent, text string) error {
	n, err := a.Told(text)
	if err == nil && n != 1 {
		err = fmt.Errorf("%q reached %s %d times", text, a.Name, n)
	}
	return err
}

// oneTurn checks that no turn of the agent ended between two events.
func oneTurn(a *agentsim.Agent, first, last agentsim.Event) error {
	events, err := a.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Kind == agentsim.Idle && e.At.After(first.At) && e.At.Before(last.At) {
			return fmt.Errorf("%s had ended its turn before", a.Name)
		}
	}
	return nil
}

func since(a, b agentsim.Event) string {
	return fmt.Sprintf("%.1f s", b.At.Sub(a.At).Seconds())
}
