package hookscripts

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"peermux/hookscripts/internal/userfile"
)

// Draft adds up what several dry runs would write, of which each sees what those
// before it would have left.
type Draft struct {
	files map[string]*drafted
	order []string // paths, as they were first touched
}

type drafted struct{ before, now userfile.Content }

// NewDraft returns an empty one.
func NewDraft() *Draft { return &Draft{files: map[string]*drafted{}} }

// read is userfile.Read, as if what was drafted had been written.
func (d *Draft) read(path string) (userfile.Content, error) {
	if d != nil && d.files[path] != nil {
		return d.files[path].now, nil
	}
	return userfile.Read(path)
}

// write takes note of a file's new content.
func (d *Draft) write(path string, before, now userfile.Content) {
	if d == nil {
		return
	}
	if d.files[path] == nil {
		d.files[path] = &drafted{before: before}
		d.order = append(d.order, path)
	}
	d.files[path].now = now
}

// Diff is all of it, one unified diff for each file.
func (d *Draft) Diff() string {
	var all strings.Builder
	for _, path := range d.order {
		if f := d.files[path]; !f.before.Equal(f.now) {
			all.Write(diff.Diff(path, f.before.Data, path, f.now.Data))
		}
	}
	return all.String()
}
