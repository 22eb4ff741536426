// Package ptytest runs a program on a terminal of its own, for tests: it types keys,
// and waits until the screen shows a text. The program is ended with the test.
package ptytest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"peermux/internal/screen"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// Terminal is a program and the screen that it draws on.
type Terminal struct {
	t       testing.TB
	file    *os.File
	changed chan struct{} // the screen has, since somebody looked
	closed  chan struct{} // nothing more comes
	ended   chan struct{}
	err     error // of the program, once it has ended

	mu    sync.Mutex
	model *screen.Model
}

// Start starts a program on a terminal of this size.
func Start(t testing.TB, cmd *exec.Cmd, cols, rows int) *Terminal {
	t.Helper()
	file, err := pty.StartWithSize(cmd, size(cols, rows))
	if err != nil {
		t.Fatal(err)
	}
	s := &Terminal{
		t: t, file: file, model: screen.NewModel(cols, rows),
		changed: make(chan struct{}, 1), closed: make(chan struct{}), ended: make(chan struct{}),
	}
	go s.draw()
	go func() {
		defer close(s.ended)
		s.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-s.ended
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		<-s.closed
	})
	return s
}

func size(cols, rows int) *pty.Winsize {
	return &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}
}

// draw takes what the program writes. It ends when no process has the terminal any more.
func (s *Terminal) draw() {
	defer close(s.closed)
	buf := make([]byte, 4096)
	for {
		n, err := s.file.Read(buf)
		s.mu.Lock()
		_, _ = s.model.Write(buf[:n]) // the model takes anything
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default: // that it has changed is known
		}
		if err != nil {
			return
		}
	}
}

// Type presses keys.
func (s *Terminal) Type(keys string) {
	s.t.Helper()
	if _, err := s.file.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// Resize gives the terminal another size and tells the program.
func (s *Terminal) Resize(cols, rows int) {
	s.t.Helper()
	s.mu.Lock() // what the program draws for the new size is for a model of that size
	defer s.mu.Unlock()
	if err := pty.Setsize(s.file, size(cols, rows)); err != nil {
		s.t.Fatal(err)
	}
	s.model.Resize(cols, rows)
}

// Text is what the screen shows.
func (s *Terminal) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, l := range s.model.Screen().Lines {
		lines = append(lines, l.Text())
	}
	return strings.Join(lines, "\n")
}

// Shows waits until the screen shows a text.
func (s *Terminal) Shows(text string) {
	s.t.Helper()
	timeout := time.After(patience)
	for !strings.Contains(s.Text(), text) {
		select {
		case <-s.changed:
			continue
		case <-s.closed:
			if strings.Contains(s.Text(), text) {
				return
			}
		case <-timeout:
		}
		s.t.Fatalf("no %q on the terminal:\n%s", text, s.Text())
	}
}

// Wait waits until the program has ended by itself, and returns how.
func (s *Terminal) Wait() error {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(patience):
		s.t.Fatalf("the program does not end; it shows\n%s", s.Text())
		return nil
	}
}
