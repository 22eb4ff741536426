package agentsim

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

	"peermux/internal/tmux"
)

// Options start an agent.
type Options struct {
	Config
	Dir string   // working folder: the project
	Env []string // the whole environment; HOME decides where the client's files are
	// Program is what runs [Main], by its absolute path: peermux's stand-in
	// command, or a test's own binary whose TestMain asks [Wanted].
	Program []string
	// Tmux, when not nil, runs it in a session of that server; its Socket and Env
	// must be set. Otherwise the agent has a PTY of its own.
	Tmux *tmux.Runner
	// Host puts `peermux run --name NAME --` before the program (on a PTY).
	Host bool
	// Logs is the folder for the event log.
	Logs string
}

// Agent is a running stand-in, seen from the person at its terminal.
type Agent struct {
	Name string
	log  string
	term keyboard
}

// keyboard is the person's end of an agent's terminal.
type keyboard interface {
	// write sends bytes as typed keys.
	write(ctx context.Context, keys string) error
	// paste sends text as a bracketed paste.
	paste(ctx context.Context, text string) error
	// screen is what the terminal shows, for a person to read.
	screen(ctx context.Context) string
	// kill ends the program with SIGKILL and waits for its end.
	kill() error
	// gone is closed when the program has ended.
	gone() <-chan struct{}
}

// Start starts an agent and waits until it takes input.
func Start(ctx context.Context, o Options) (*Agent, error) {
	o.Log = filepath.Join(o.Logs, o.Name+".log")
	raw, err := json.Marshal(o.Config)
	if err != nil {
		return nil, err
	}
	words, err := o.disguised()
	if err != nil {
		return nil, err
	}
	if o.Host {
		words = slices.Concat([]string{o.Peermux, "run", "--name", o.Name, "--"}, words)
	}
	a := &Agent{Name: o.Name, log: o.Log}
	config := configEnv + "=" + string(raw)
	if o.Tmux != nil {
		a.term, err = startInTmux(ctx, o, words, config)
	} else {
		a.term, err = startOnPTY(o, words, config)
	}
	if err != nil {
		return nil, err
	}
	if _, err := a.Wait(ctx, time.Time{}, Ready, ""); err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", o.Name, err), a.Kill())
	}
	return a, nil
}

// disguised gives the program the client's name, by which peermux recognises the
// processes of clients.
func (o Options) disguised() ([]string, error) {
	dir := filepath.Join(o.Logs, "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, o.Client)
	if err := os.Symlink(o.Program[0], name); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return append([]string{name}, o.Program[1:]...), nil
}

// Events returns all that happened so far.
func (a *Agent) Events() ([]Event, error) {
	events, _, err := readLog(a.log, 0)
	return events, err
}

// Wait waits for the first event after a time that has this kind and holds text,
// and returns it. The zero time means ever.
func (a *Agent) Wait(ctx context.Context, after time.Time, kind Kind, text string) (Event, error) {
	return a.wait(ctx, fmt.Sprintf("%q with %q", kind, text), func(e Event) bool {
		return e.Kind == kind && e.At.After(after) && strings.Contains(e.Text, text)
	})
}

// WaitTold is Wait for text that reaches the model, by whatever way.
func (a *Agent) WaitTold(ctx context.Context, after time.Time, text string) (Event, error) {
	return a.wait(ctx, fmt.Sprintf("telling the model %q", text), func(e Event) bool {
		return e.tells() && e.At.After(after) && strings.Contains(e.Text, text)
	})
}

func (a *Agent) wait(ctx context.Context, what string, ok func(Event) bool) (Event, error) {
	var offset int64
	for {
		events, next, err := readLog(a.log, offset)
		if err != nil {
			return Event{}, err
		}
		offset = next
		for _, e := range events {
			if ok(e) {
				return e, nil
			}
		}
		select {
		case <-ctx.Done():
			return Event{}, fmt.Errorf("%s: no %s: %w\n%s", a.Name, what, ctx.Err(), a.state())
		case <-a.term.gone():
			// Its last words are in the log already: one more look, then the end.
			if last, _, err := readLog(a.log, offset); err == nil && len(last) > 0 {
				continue
			}
			return Event{}, fmt.Errorf("%s ended, and there was no %s\n%s", a.Name, what, a.state())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Say submits a prompt as a person does: paste, look, Enter. It returns when the
// agent has taken it: a turn started, or it waits for the end of the running one.
func (a *Agent) Say(ctx context.Context, text string) error {
	start := time.Now()
	if err := a.term.paste(ctx, text); err != nil {
		return err
	}
	shown, err := a.Wait(ctx, start, Draft, text)
	if err != nil {
		return err
	}
	if err := a.term.write(ctx, "\r"); err != nil {
		return err
	}
	_, err = a.Wait(ctx, shown.At, Draft, "") // the composer is empty again
	return err
}

// Type types text without Enter and waits until it stands in the composer.
func (a *Agent) Type(ctx context.Context, text string) error {
	start := time.Now()
	if err := a.term.write(ctx, text); err != nil {
		return err
	}
	_, err := a.Wait(ctx, start, Draft, text)
	return err
}

// Escape presses Esc, which ends a running turn.
func (a *Agent) Escape(ctx context.Context) error { return a.term.write(ctx, "\x1b") }

// SessionID is the session id the agent has now.
func (a *Agent) SessionID() (string, error) {
	events, err := a.Events()
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(events) {
		if e.Kind == Ready {
			return e.Text, nil
		}
	}
	return "", fmt.Errorf("%s is not ready yet", a.Name)
}

// Told counts how often the model was told text: by a prompt, a hook's context
// or a tool's result.
func (a *Agent) Told(text string) (int, error) {
	events, err := a.Events()
	n := 0
	for _, e := range events {
		if e.tells() {
			n += strings.Count(e.Text, text)
		}
	}
	return n, err
}

// Stop ends the agent the way a person does, whatever stands in its composer, and
// waits for its end. An agent that has ended already is no error.
func (a *Agent) Stop(ctx context.Context) error {
	select {
	case <-a.term.gone():
		return a.Kill()
	default:
	}
	start := time.Now()
	err := a.term.write(ctx, "\x03")
	if err == nil {
		_, err = a.Wait(ctx, start, Draft, "")
	}
	if err == nil {
		err = a.Say(ctx, "/exit")
	}
	if err == nil {
		select {
		case <-a.term.gone():
		case <-ctx.Done():
			err = fmt.Errorf("%s did not end: %w", a.Name, ctx.Err())
		}
	}
	return errors.Join(err, a.Kill())
}

// Kill ends the agent with SIGKILL, as a crash would.
func (a *Agent) Kill() error { return a.term.kill() }

// state is the screen and the last events, for a failing test.
func (a *Agent) state() string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var b strings.Builder
	fmt.Fprintf(&b, "screen of %s:\n%s\n", a.Name, a.term.screen(ctx))
	raw, err := os.ReadFile(a.log)
	if err != nil {
		fmt.Fprintf(&b, "log: %v\n", err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	for _, l := range lines[max(0, len(lines)-12):] {
		fmt.Fprintf(&b, "  %.300s\n", l)
	}
	return b.String()
}
