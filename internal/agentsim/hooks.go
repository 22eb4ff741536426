package agentsim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// hookOutput is what an agent takes from a hook.
type hookOutput struct {
	Context string   // additionalContext, or plain stdout where the client takes it
	Watch   []string // Claude's watchPaths
	Block   string   // the reason of decision "block"
	Wake    string   // stderr of a hook that ended with exit code 2
}

// hooks runs the hook program as the client does: through a shell, in a session
// of its own, with one JSON value on stdin.
type hooks struct {
	program, client string
	cwd             string
	env             []string
	log             *eventLog
}

// hookTimeout is far below the clients' 600 s: a stand-in that hangs on a hook
// should fail its test.
const hookTimeout = 10 * time.Second

// run runs one event. A failing hook is noted and changes nothing, as with the
// clients.
func (h *hooks) run(ctx context.Context, event string, payload map[string]any, env ...string) hookOutput {
	if h.program == "" {
		return hookOutput{}
	}
	payload["hook_event_name"] = event
	stdin, err := json.Marshal(payload)
	if err != nil {
		h.log.add(Note, "hook %s: %v", event, err)
		return hookOutput{}
	}
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", quote(h.program)+" "+h.client+" "+event)
	cmd.Dir, cmd.Env = h.cwd, slices.Concat(h.env, env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second // a child that holds the pipes must not hold the agent
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return hookOutput{Wake: stderr.String()}
	}
	if err != nil {
		h.log.add(Note, "hook %s: %v: %s", event, err, stderr.String())
		return hookOutput{}
	}
	out, err := parseHookOutput(event, stdout.Bytes())
	if err != nil {
		h.log.add(Note, "hook %s: %v", event, err)
	}
	return out
}

func parseHookOutput(event string, stdout []byte) (hookOutput, error) {
	text := strings.TrimSpace(string(stdout))
	if text == "" {
		return hookOutput{}, nil
	}
	if !strings.HasPrefix(text, "{") {
		if event == "SessionStart" || event == "UserPromptSubmit" {
			return hookOutput{Context: text}, nil
		}
		return hookOutput{}, nil // both clients ignore it
	}
	var o struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
		Specific struct {
			Event   string   `json:"hookEventName"`
			Context string   `json:"additionalContext"`
			Watch   []string `json:"watchPaths"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(stdout, &o); err != nil {
		return hookOutput{}, fmt.Errorf("stdout is no JSON: %w", err)
	}
	out := hookOutput{Context: o.Specific.Context, Watch: o.Specific.Watch}
	if o.Specific.Event != event {
		out.Context, out.Watch = "", nil // the clients want the event named
	}
	if o.Decision == "block" {
		out.Block = o.Reason
	}
	return out, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
