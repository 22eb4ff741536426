package agentsim

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"peermux/internal/mockmodel"
)

// Config says how an agent behaves. Programs are absolute paths; without one the
// agent has no MCP server, or no hooks.
type Config struct {
	Client  string           `json:"client"`  // claude or codex
	Name    string           `json:"name"`    // its log, its tmux session or PTY host; Claude's own session name
	Peermux string           `json:"peermux"` // started as an MCP server: `peermux mcp`
	Hook    string           `json:"hook"`    // run for each event: `peermux-hook <client> <event>`
	Log     string           `json:"log"`     // the agent's event log
	Rules   []mockmodel.Rule `json:"rules"`
}

// agent is the running program. Its main loop owns every field; a turn runs in
// its own goroutine, which owns the conversation while it runs.
type agent struct {
	cfg   Config
	id    *identity
	log   *eventLog
	hooks *hooks
	mcp   *mcpServer
	bell  *bell
	draw  func(view) error

	view     view
	queued   []string // prompts that wait for the end of the turn
	messages []mockmodel.Message
	begun    bool // Codex: SessionStart has fired

	turn *turn // nil when idle
}

// run is the agent's life, from a terminal in raw mode to its end.
func (a *agent) run(ctx context.Context, keys <-chan key) error {
	defer func() {
		if err := a.end(); err != nil {
			a.log.add(Note, "end: %v", err)
		}
		a.log.add(Ended, "")
	}()
	if err := a.start(ctx); err != nil {
		a.log.add(Note, "start: %v", err)
		return err
	}
	for {
		if err := a.draw(a.view); err != nil {
			return err
		}
		var done <-chan struct{}
		if a.turn != nil {
			done = a.turn.done
		}
		select {
		case <-ctx.Done():
			return nil
		case k := <-keys:
			if k.name == keyGone {
				return nil
			}
			if a.press(ctx, k) {
				return nil
			}
		case line := <-a.lines():
			a.say(line)
		case <-done:
			a.finish(ctx)
		case <-a.bell.rang:
			a.ring(ctx)
		case text := <-a.bell.woken:
			a.wake(ctx, text, "the bell")
		}
	}
}

// start brings the client up as far as it comes before the first prompt: MCP
// server first, then Claude's SessionStart.
func (a *agent) start(ctx context.Context) error {
	if err := a.id.setStatus("idle"); err != nil {
		return err
	}
	if err := a.connect(ctx); err != nil {
		return err
	}
	if a.id.client == "claude" {
		a.sessionStart(ctx, "startup")
	}
	a.log.add(Ready, "%s", a.id.sessionID)
	return nil
}

func (a *agent) connect(ctx context.Context) error {
	if a.cfg.Peermux == "" {
		return nil
	}
	var err error
	a.mcp, err = startMCP(ctx, a.cfg.Peermux, a.id.mcpEnv(os.Environ()), *a.id, a.log)
	return err
}

// sessionStart runs the hook and takes what it gives into the conversation.
func (a *agent) sessionStart(ctx context.Context, source string) {
	out := a.hooks.run(ctx, "SessionStart", a.id.payload(map[string]any{"source": source}), a.id.hookEnv()...)
	if out.Context != "" {
		a.tell("SessionStart hook additional context: " + out.Context)
	}
	a.bell.watch(out.Watch)
	a.begun = true
}

func (a *agent) tell(text string) {
	a.log.add(Told, "%s", text)
	a.messages = append(a.messages, mockmodel.Message{Role: "system", Text: text})
}

// end is what a client does when it exits: hook, server, files.
func (a *agent) end() error {
	if a.turn != nil {
		a.turn.cancel()
		<-a.turn.done
	}
	ctx, cancel := context.WithTimeout(context.Background(), hookTimeout)
	defer cancel()
	if a.begun {
		a.hooks.run(ctx, "SessionEnd", a.id.payload(map[string]any{"reason": "other"}), a.id.hookEnv()...)
	}
	if a.mcp != nil {
		a.mcp.stop()
	}
	return a.id.end()
}

// press handles a key and reports whether the person ended the client.
func (a *agent) press(ctx context.Context, k key) (exit bool) {
	switch k.name {
	case keyText:
		a.setDraft(a.view.draft + k.text)
	case keyBackspace:
		if r := []rune(a.view.draft); len(r) > 0 {
			a.setDraft(string(r[:len(r)-1]))
		}
	case keyInterrupt:
		a.setDraft("")
	case keyEscape:
		if a.turn != nil {
			a.turn.cancel()
		}
	case keyEnter:
		text := a.view.draft
		if text == "" {
			return false
		}
		a.setDraft("")
		return a.submit(ctx, text)
	}
	return false
}

func (a *agent) setDraft(text string) {
	a.view.draft = text
	a.log.add(Draft, "%s", text)
}

func (a *agent) submit(ctx context.Context, text string) (exit bool) {
	switch {
	case text == "/exit" || text == "/quit":
		return true
	case a.turn != nil:
		a.queued = append(a.queued, text)
	case text == "/clear" || text == "/new":
		a.clear(ctx)
	default:
		a.begin(ctx, text, "")
	}
	return false
}

// clear starts a new conversation in the same client: Claude keeps its MCP
// server, Codex starts another one for the new thread.
func (a *agent) clear(ctx context.Context) {
	a.hooks.run(ctx, "SessionEnd", a.id.payload(map[string]any{"reason": "clear"}), a.id.hookEnv()...)
	if err := a.id.renew(); err != nil {
		a.log.add(Note, "clear: %v", err)
	}
	a.messages, a.view.transcript, a.begun = nil, nil, false
	if a.id.client == "codex" {
		if a.mcp != nil {
			a.mcp.stop()
		}
		if err := a.connect(ctx); err != nil {
			a.log.add(Note, "clear: %v", err)
		}
	} else {
		if err := a.id.setStatus("idle"); err != nil {
			a.log.add(Note, "clear: %v", err)
		}
		a.sessionStart(ctx, "clear")
	}
	a.log.add(Ready, "%s", a.id.sessionID)
}

// begin starts a turn; how tells what woke it, empty when a person typed.
func (a *agent) begin(ctx context.Context, prompt, how string) {
	if how != "" {
		a.log.add(Woken, "%s", how)
	}
	a.log.add(Prompt, "%s", prompt)
	a.say("❯ " + prompt)
	if !a.begun {
		a.sessionStart(ctx, "startup") // Codex: at the first turn
	}
	a.view.busy = true
	if err := a.id.setStatus("busy"); err != nil {
		a.log.add(Note, "status: %v", err)
	}
	a.turn = newTurn(ctx, a, prompt)
	go a.turn.run()
}

// finish takes a turn's conversation back and starts what has waited for its end.
func (a *agent) finish(ctx context.Context) {
	for len(a.turn.lines) > 0 { // what was said last is still on its way
		a.say(<-a.turn.lines)
	}
	a.messages = a.turn.messages
	left, interrupted := a.turn.leftover(), a.turn.interrupted
	a.turn, a.view.busy = nil, false
	if err := a.id.setStatus("idle"); err != nil {
		a.log.add(Note, "status: %v", err)
	}
	if interrupted && a.id.client == "codex" { // Claude has no event for it
		a.hooks.run(ctx, "Interrupt", a.id.payload(map[string]any{}), a.id.hookEnv()...)
	}
	a.log.add(Idle, "")
	switch {
	case len(a.queued) > 0:
		prompt := a.queued[0]
		a.queued = a.queued[1:]
		a.begin(ctx, prompt, "")
	case len(left) > 0:
		a.begin(ctx, strings.Join(left, "\n"), "the bell, at the end of a turn")
	}
}

// wake delivers what a background hook said: an idle session starts a turn, a
// working one gets it with its next tool result.
func (a *agent) wake(ctx context.Context, text, how string) {
	if a.turn == nil {
		a.begin(ctx, text, how)
		return
	}
	a.turn.note(text)
}

// ring runs the FileChanged hook in the background.
func (a *agent) ring(ctx context.Context) {
	payload := a.id.payload(map[string]any{"file_path": a.bell.file(), "event": "change"})
	env := a.id.hookEnv()
	go func() {
		out := a.hooks.run(ctx, "FileChanged", payload, env...)
		if out.Wake == "" {
			return
		}
		select {
		case a.bell.woken <- notification(out.Wake):
		case <-ctx.Done():
		}
	}()
}

// notification is how Claude 2.1.328 shows a wake to the model.
func notification(text string) string {
	return "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n<task-notification>\n<summary>peer mail</summary>\n</task-notification>\n" +
		"<system-reminder>\n" + text + "\n&lt;/system-reminder&gt;\n</system-reminder>"
}

// maxTranscript is how many lines the screen keeps; nobody scrolls a stand-in.
const maxTranscript = 200

func (a *agent) say(line string) {
	a.view.transcript = append(a.view.transcript, strings.Split(line, "\n")...)
	if n := len(a.view.transcript); n > maxTranscript {
		a.view.transcript = slices.Clone(a.view.transcript[n-maxTranscript:])
	}
}

func (a *agent) lines() <-chan string {
	if a.turn == nil {
		return nil
	}
	return a.turn.lines
}

// callID numbers tool calls uniquely within a process.
func callID(n int) string { return fmt.Sprintf("toolu_sim%d_%d", time.Now().UnixNano(), n) }
