package agentsim

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"peermux/internal/mockmodel"
)

// turn is one turn of the conversation, from the prompt to the Stop hook.
type turn struct {
	a        *agent
	ctx      context.Context
	cancel   context.CancelFunc // Esc
	prompt   string
	messages []mockmodel.Message
	lines    chan string   // for the screen
	done     chan struct{} // closed when the turn is over
	calls    int

	interrupted bool // by Esc; read when done is closed

	mu    sync.Mutex
	notes []string // notifications that came meanwhile
}

func newTurn(ctx context.Context, a *agent, prompt string) *turn {
	t := &turn{a: a, prompt: prompt, messages: slices.Clone(a.messages), lines: make(chan string, 1000), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// note hands the turn a notification for its next tool result.
func (t *turn) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, text)
}

// leftover returns the notifications that no tool result took along.
func (t *turn) leftover() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.notes
	t.notes = nil
	return left
}

// maxAnswers ends a turn that a script or a hook drives for ever.
const maxAnswers = 50

func (t *turn) run() {
	defer close(t.done)
	defer func() {
		t.interrupted = t.ctx.Err() != nil
		t.cancel()
	}()
	t.add("user", t.prompt)
	t.record("user", t.prompt)
	t.hook("UserPromptSubmit", map[string]any{"prompt": t.prompt})
	stopActive := false
	for range maxAnswers {
		step, err := mockmodel.Decide(t.messages, t.a.cfg.Rules)
		if err != nil {
			t.a.log.add(Note, "%v", err)
		}
		if !t.pause(step.Delay) {
			return
		}
		if len(step.Calls) > 0 {
			t.callAll(step)
			if t.ctx.Err() != nil {
				return // Esc: no Stop hook then (Claude 2.1.197)
			}
			continue
		}
		t.answer(step.Say)
		if !t.stop(stopActive, step.Say) {
			return
		}
		stopActive = true
	}
	t.a.log.add(Note, "the turn had %d answers and was ended", maxAnswers)
}

// pause waits as the model would think, and reports whether the turn goes on.
func (t *turn) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return t.ctx.Err() == nil
	case <-t.ctx.Done():
		return false
	}
}

func (t *turn) add(role, text string) {
	t.messages = append(t.messages, mockmodel.Message{Role: role, Text: text})
}

func (t *turn) show(line string) {
	select {
	case t.lines <- line:
	default: // a thousand lines ahead of the screen: it will not be read
	}
}

func (t *turn) record(role, text string) {
	if err := t.a.id.record(role, text); err != nil {
		t.a.log.add(Note, "transcript: %v", err)
	}
}

func (t *turn) answer(text string) {
	t.a.log.add(Said, "%s", text)
	t.show("● " + text)
	t.add("assistant", text)
	t.record("assistant", text)
}

// hook runs a hook of the turn and tells the model its context.
func (t *turn) hook(event string, keys map[string]any) hookOutput {
	out := t.a.hooks.run(t.ctx, event, t.a.id.payload(keys), t.a.id.hookEnv()...)
	if out.Context != "" {
		text := event + " hook additional context: " + out.Context
		t.a.log.add(Told, "%s", text)
		t.add("system", text)
	}
	return out
}

// stop runs the Stop hook and reports whether the turn goes on.
func (t *turn) stop(active bool, last string) bool {
	out := t.hook("Stop", map[string]any{"stop_hook_active": active, "last_assistant_message": last})
	switch {
	case out.Block != "" && t.a.id.client == "codex":
		t.told(`<hook_prompt hook_run_id="stop:0:0">` + out.Block + "</hook_prompt>")
	case out.Block != "":
		t.told("Stop hook feedback:\n" + out.Block)
	case out.Wake != "":
		t.told("Stop hook feedback:\n" + out.Wake)
	case out.Context == "":
		return false
	}
	return t.ctx.Err() == nil
}

func (t *turn) told(text string) {
	t.a.log.add(Told, "%s", text)
	t.add("user", text)
}

// callAll runs the tool calls of one answer at once, as both clients do with
// calls that may run in parallel, and adds results in order.
func (t *turn) callAll(step mockmodel.Step) {
	type outcome struct {
		text    string
		context []string
	}
	results := make([]outcome, len(step.Calls))
	for _, c := range step.Calls {
		t.add("assistant", c.Name+" "+string(c.Input))
	}
	var wg sync.WaitGroup
	for i, c := range step.Calls {
		t.calls++
		id := callID(t.calls)
		wg.Go(func() {
			o := &results[i]
			keys := func() map[string]any {
				return map[string]any{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": id}
			}
			o.context = append(o.context, t.toolHook("PreToolUse", keys()))
			o.text = t.call(c, id)
			after := keys()
			after["tool_response"] = []any{map[string]any{"type": "text", "text": o.text}}
			o.context = append(o.context, t.toolHook("PostToolUse", after))
		})
	}
	wg.Wait()
	for _, o := range results {
		t.add("tool", o.text)
		for _, c := range o.context {
			if c != "" {
				t.add("system", c)
			}
		}
	}
	for _, n := range t.leftover() {
		t.told(n)
	}
}

// toolHook runs a hook beside other tool calls: its context is returned, since
// the conversation is not theirs to change.
func (t *turn) toolHook(event string, keys map[string]any) string {
	out := t.a.hooks.run(t.ctx, event, t.a.id.payload(keys), t.a.id.hookEnv()...)
	if out.Context == "" {
		return ""
	}
	text := event + ":" + fmt.Sprint(keys["tool_name"]) + " hook additional context: " + out.Context
	t.a.log.add(Told, "%s", text)
	return text
}

// call runs one tool and returns what the model sees.
func (t *turn) call(c mockmodel.Call, id string) string {
	t.a.log.add(Called, "%s %s", c.Name, c.Input)
	t.show("● " + c.Name)
	text, err := t.tool(c, id)
	if err != nil {
		text = "Error: " + err.Error()
	}
	t.a.log.add(Result, "%s", text)
	return text
}

func (t *turn) tool(c mockmodel.Call, id string) (string, error) {
	if name, ok := strings.CutPrefix(c.Name, "mcp__peermux__"); ok {
		if t.a.mcp == nil {
			return "", fmt.Errorf("no MCP server is configured")
		}
		return t.a.mcp.call(t.ctx, name, c.Input, t.a.id.meta(id))
	}
	var in struct {
		Command string `json:"command"` // Claude's Bash
		Cmd     string `json:"cmd"`     // Codex's exec_command
	}
	if err := json.Unmarshal(c.Input, &in); err != nil || in.Command+in.Cmd == "" {
		return "", fmt.Errorf("the stand-in has no tool %s", c.Name)
	}
	cmd := exec.CommandContext(t.ctx, "/bin/sh", "-c", in.Command+in.Cmd)
	cmd.Dir, cmd.WaitDelay = t.a.id.cwd, time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%v: %s", err, out)
	}
	return string(out), nil
}
