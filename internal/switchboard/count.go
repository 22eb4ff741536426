package switchboard

import (
	"context"

	"peermux/mailbox"
	"peermux/registry"
)

// Count is what waits in every box that is not drained, without showing or
// changing anything. exclude leaves one box out, by its key or its name here.
func (b *Board) Count(_ context.Context, exclude string) (CountResult, error) {
	boxes, err := b.Store.Boxes()
	if err != nil && len(boxes) == 0 {
		return CountResult{}, storage(err)
	}
	res := CountResult{OK: true, Boxes: []CountRow{}}
	if err != nil {
		res.Notes = append(res.Notes, "not counted: "+err.Error())
	}
	live, err := b.peek()
	if err != nil {
		return CountResult{}, err
	}
	var owners []dest
	named := map[string]int{}
	for _, box := range boxes {
		if box.Unshown == 0 && box.Open == 0 {
			continue
		}
		owner := b.ownerOf(box, live)
		owners = append(owners, owner)
		named[owner.label()]++
		res.Boxes = append(res.Boxes, CountRow{Box: box.Key, Unshown: box.Unshown, Open: box.Open})
	}
	kept := res.Boxes[:0]
	for i, row := range res.Boxes {
		row.Name = owners[i].label()
		if named[row.Name] > 1 {
			row.Name = owners[i].exact()
		}
		if row.Box == exclude || row.Name == exclude {
			continue
		}
		kept = append(kept, row)
		res.Unshown += row.Unshown
		res.Open += row.Open
	}
	res.Boxes = kept
	return res, nil
}

// ownerOf is whose box this is: the session that has it now, else whom its mail was
// sent to.
func (b *Board) ownerOf(box mailbox.BoxInfo, live []registry.Entry) dest {
	party := box.To
	party.Box = box.Key
	return b.destOf(party, live)
}

// exact names the target where its label would name another one too.
func (d dest) exact() string {
	switch {
	case d.kind == registry.ToRepo:
		return d.kind + ":" + d.party.Project
	case d.party.SessionID != "":
		return d.party.SessionID
	}
	return d.key
}
