package switchboard

import (
	"context"
	"strings"

	"peermux/internal/project"
	"peermux/mailbox"
)

// groupOf is the group of a project as groups.json has it now.
func (b *Board) groupOf(root string) string {
	groups, err := project.LoadGroups(b.Home)
	if err != nil {
		return "" // a damaged file joins nobody to anything
	}
	return groups.Of(root)
}

// SetGroup puts the actor's project into a group; an empty name leaves it.
func (b *Board) SetGroup(_ context.Context, a Actor, group string) (GroupResult, error) {
	group = strings.TrimSpace(group)
	if a.Project == "" {
		return GroupResult{}, refuse(CodeBadRequest, "this actor is in no project; run the command in the project's folder")
	}
	if group != "" {
		if err := project.ValidName(group); err != nil {
			return GroupResult{}, refuse(CodeBadRequest, "group %q: %v", group, err)
		}
	}
	if err := b.enterGroup(a, group); err != nil {
		return GroupResult{}, err
	}
	if err := project.SetGroup(b.Home, a.Project, group); err != nil {
		return GroupResult{}, storage(err)
	}
	return b.Group(a)
}

// enterGroup sets the place of the project's sessions in the group's feed, before
// the project is in the group: a session's own first look may come after the first
// broadcast, and would begin behind it.
func (b *Board) enterGroup(a Actor, group string) error {
	if group == "" {
		return nil
	}
	live, err := b.live()
	if err != nil {
		return err
	}
	for _, e := range live {
		if e.Project != a.Project || e.SessionID == "" {
			continue
		}
		if err := b.Store.FeedEnter(mailbox.FeedGroup(group), e.Box, mailbox.FeedOptions{Self: e.SessionID}); err != nil {
			return storage(err)
		}
	}
	return nil
}

// Group tells the actor's group and those that exist.
func (b *Board) Group(a Actor) (GroupResult, error) {
	groups, err := project.LoadGroups(b.Home)
	if err != nil {
		return GroupResult{}, storage(err)
	}
	name := groups.Of(a.Project)
	res := GroupResult{OK: true, Project: a.Project, Group: name, Groups: groups.Names()}
	if name != "" {
		res.Members = groups.Members(name)
	}
	return res, nil
}

// noGroup refuses a broadcast to the group of a project that is in none.
func (b *Board) noGroup() *Error {
	groups, err := project.LoadGroups(b.Home)
	if err != nil {
		return storage(err)
	}
	known := groups.Names()
	text := "no group exists yet"
	if len(known) > 0 {
		text = "the groups are " + strings.Join(known, ", ")
	}
	return refuse(CodeNoGroup, "this project is in no group, and %s; ask your user which one it should join, then call set_group", text).with("groups", orEmpty(known))
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
