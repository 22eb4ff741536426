package ptyhost

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// notice is one line between host and leader.
type notice struct {
	// From the leader.
	Ready   bool   `json:"ready,omitempty"`   // the terminal's modes are kept
	Started int    `json:"started,omitempty"` // pid of the program
	Stopped bool   `json:"stopped,omitempty"`
	Exited  bool   `json:"exited,omitempty"`
	Code    int    `json:"code,omitempty"`
	Failed  string `json:"failed,omitempty"` // the program could not be started
	// From the host.
	Continue bool `json:"continue,omitempty"` // begin, or go on after a stop
	Signal   int  `json:"signal,omitempty"`
	Hangup   bool `json:"hangup,omitempty"` // the person's terminal is gone
}

// link is one end of the connection between host and leader. It breaks when the
// other one dies, which is how each learns of it.
type link struct {
	conn net.Conn
	mu   sync.Mutex
	out  *json.Encoder
}

// newLink makes both ends; theirs is inherited by the leader.
func newLink() (mine *link, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd) // os/exec passes on what it is told to, and nothing else
	}
	theirs = os.NewFile(uintptr(fds[1]), "leader")
	mine, err = openLink(os.NewFile(uintptr(fds[0]), "host"))
	return mine, theirs, err
}

// openLink takes over a file that is one end.
func openLink(f *os.File) (*link, error) {
	defer f.Close() // FileConn has a copy of its own
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return &link{conn: conn, out: json.NewEncoder(conn)}, nil
}

// send tells the other end. When it is gone there is nobody to tell, and the
// receiving side finds out.
func (l *link) send(n notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.out.Encode(n)
}

// receive passes on what comes, and closes the channel when the other end is gone.
func (l *link) receive(to chan<- notice) {
	defer close(to)
	in := json.NewDecoder(l.conn)
	for {
		var n notice
		if err := in.Decode(&n); err != nil {
			return
		}
		to <- n
	}
}

func (l *link) Close() error { return l.conn.Close() }
