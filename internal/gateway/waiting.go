package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"peermux/detect"
	"peermux/internal/frame"
	"peermux/internal/private"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// waitingTag marks the message that says that a session waits for its user.
const waitingTag = "waiting"

// waitingName is the file in out/ that holds the id of that message while the
// episode lasts, so that it is sent once also when the server is started anew.
const waitingName = ".waiting"

// step is what is to be done about a session that waits, or does not.
type step struct {
	send     bool
	withdraw bool
	again    time.Duration // when to look again although nothing changes; 0: no need
}

// judge decides about one moment: status since when, the app's patience in
// minutes, and whether the app has been told of this episode.
func judge(now time.Time, status detect.Status, minutes int, told bool) step {
	if status.Word != registry.Waiting {
		return step{withdraw: told}
	}
	if told || minutes <= 0 {
		return step{}
	}
	left := time.Duration(minutes)*time.Minute - now.Sub(status.Since)
	if left > 0 {
		return step{again: left}
	}
	return step{send: true}
}

// tend sends or withdraws the waiting message of a session.
func (d *door) tend(f folder, e registry.Entry, status detect.Status) (again time.Duration, err error) {
	id, err := f.waitingID()
	if err != nil {
		return 0, err
	}
	s := judge(d.now, status, d.app.WaitMinutes, id != "")
	switch {
	case s.send:
		return 0, d.tellWaiting(f, e, status)
	case s.withdraw:
		// Too late when the app has it: then it stays told.
		if _, err := d.takeBack(id); err != nil && !errors.Is(err, mailbox.ErrUnknownMessage) {
			return 0, err
		}
		return 0, os.Remove(f.out(waitingName))
	}
	return s.again, nil
}

func (f folder) waitingID() (string, error) {
	data, err := private.ReadFile(f.out(waitingName), 64)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// tellWaiting sends the message. Its id follows from the episode, and is noted
// first, so that whoever goes on after a crash sends the same one or none.
func (d *door) tellWaiting(f folder, e registry.Entry, status detect.Status) error {
	about := ""
	if what := frame.Line(status.WaitingFor, 200); what != "" {
		about = " (" + what + ")"
	}
	m := mailbox.Message{
		ID:   mailbox.CompletionID("peermux waiting: " + d.app.Name + " " + e.Box + " " + status.Since.UTC().Format(time.RFC3339Nano)),
		Kind: mailbox.KindNote, Tag: waitingTag, Subject: waitingTag,
		From: switchboard.PartyOf(e), To: mailbox.Party{Name: d.app.Name, Box: d.app.Box()},
		Body: fmt.Sprintf("%s has been waiting for its user since %s%s.", e.Name, status.Since.Local().Format(time.RFC3339), about),
	}
	if _, err := d.board.Store.Append(d.app.Box(), &m, mailbox.AppendOptions{}); err != nil {
		return err
	}
	if err := d.flush(); err != nil {
		return err
	}
	return private.WriteFile(f.out(waitingName), []byte(m.ID+"\n"))
}
