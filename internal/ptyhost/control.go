package ptyhost

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"peermux/internal/frame"
	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/screen"
)

// The control socket takes one request per connection: a line of JSON, answered
// with a line of JSON.

// Operations.
const (
	opLook  = "look"
	opPaste = "paste" // the wake line; there is no other text
	opEnter = "enter"
)

type request struct {
	Op string `json:"op"`
	// Typed is Look.Typed of the look that led to this request: keys are refused
	// when the person has typed since.
	Typed uint64 `json:"typed"`
}

// Look is one moment of a hosted terminal.
type Look struct {
	Program int           `json:"program"` // pid of the program, 0 while it starts
	TTY     int64         `json:"tty"`     // device number of the inner terminal
	Ended   bool          `json:"ended"`
	Typed   uint64        `json:"typed"` // how often the person has typed
	Screen  screen.Screen `json:"screen"`
}

type answer struct {
	Look    *Look  `json:"look,omitempty"`
	Refused string `json:"refused,omitempty"` // nothing was sent; why
	Error   string `json:"error,omitempty"`
}

// maxSocketPath is what fits into sun_path on every system we run on (macOS: 104
// bytes with the closing 0).
const maxSocketPath = 103

// listen makes the control socket.
func listen(home string) (path string, l *net.UnixListener, err error) {
	dir := filepath.Join(home, "hosts")
	if len(dir)+len("/9999999.sock") > maxSocketPath {
		// One folder per user and home, since pids are unique on the machine only.
		sum := sha256.Sum256([]byte(home))
		dir = fmt.Sprintf("/tmp/peermux-%d-%x", os.Getuid(), sum[:4])
	}
	if err := private.Dir(dir); err != nil {
		return "", nil, err
	}
	if err := sweep(dir); err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, strconv.Itoa(os.Getpid())+".sock")
	// The folder is private, so nobody can reach the socket before it is 0600.
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return "", nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	return path, l, nil
}

// sweep removes the sockets of hosts that are gone; our own pid is free as well.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".sock")
		pid, err := strconv.Atoi(name)
		if !ok || err != nil {
			continue
		}
		if _, err := proc.Stat(pid); errors.Is(err, proc.ErrGone) || pid == os.Getpid() {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// askWithin bounds one request, so that a peer that hangs costs nothing.
const askWithin = 2 * time.Second

func (h *host) serve(l *net.UnixListener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // out of descriptors, or the caller has gone
		}
		go h.answer(conn)
	}
}

func (h *host) answer(conn net.Conn) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askWithin)); err != nil {
		return
	}
	var r request
	if err := json.NewDecoder(io.LimitReader(conn, 4096)).Decode(&r); err != nil {
		return
	}
	// A caller that has gone wants no answer.
	_ = json.NewEncoder(conn).Encode(h.do(r))
}

func (h *host) do(r request) answer {
	switch r.Op {
	case opLook:
		return h.look()
	case opPaste:
		_, pasteMode := h.screen.look()
		text := frame.WakeLine
		if pasteMode {
			text = "\x1b[200~" + text + "\x1b[201~"
		}
		return h.press(r, text)
	case opEnter:
		return h.press(r, "\r")
	}
	return answer{Error: fmt.Sprintf("unknown operation %q", r.Op)}
}

func (h *host) look() answer {
	h.keys.Lock()
	typed := h.typed // before the screen: what is typed later must count as later
	h.keys.Unlock()
	now, _ := h.screen.look()
	pid, ended := h.state()
	return answer{Look: &Look{Program: pid, TTY: h.tty, Ended: ended, Typed: typed, Screen: now}}
}

// press sends keys if nobody has typed since the caller looked. The person's keys
// and these go through one lock, so that neither can land inside the other.
func (h *host) press(r request, keys string) answer {
	h.keys.Lock()
	defer h.keys.Unlock()
	if h.typed != r.Typed {
		return answer{Refused: "somebody is typing"}
	}
	if _, ended := h.state(); ended {
		return answer{Refused: "the program has ended"}
	}
	if _, err := io.WriteString(h.master, keys); err != nil {
		return answer{Error: err.Error()}
	}
	return answer{}
}
