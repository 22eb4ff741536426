package transcript

import "strings"

// assemble makes turns of events in the order of the file. What was taken back
// (a rewound branch, a rollback) is left out and counted.
func assemble(events []event) assembly {
	kept, rewound, cut := withoutRewound(events)
	a := assembler{open: -1, groups: map[string]int{}, calls: map[string]callAt{}, ended: true}
	for _, e := range kept {
		a.add(e)
	}
	return assembly{turns: a.finish(), ended: a.ended, rewound: rewound, cut: cut}
}

// assembly is what events come to.
type assembly struct {
	turns   []Turn
	ended   bool // nothing is being answered
	rewound int  // prompts that the user took back
	cut     bool // a prompt continues from a record before the first event
}

// assembler joins events to turns.
type assembler struct {
	turns  []Turn
	open   int  // the answer that words without a group join, or -1
	sealed bool // the open answer has a result: the next words begin another
	groups map[string]int
	calls  map[string]callAt
	ended  bool // nothing is being answered

	// The client records where its turns begin and end. Codex before 0.100 does
	// not: there an answer without a call is the last of its turn.
	started bool
}

// callAt is where a call stands.
type callAt struct{ turn, tool int }

func (a *assembler) add(e event) {
	switch e.kind {
	case kindPrompt:
		a.dropSummary(e)
		a.turns = append(a.turns, Turn{Role: e.role, Text: e.text, At: e.at, Complete: true, Agent: e.agent, masked: e.masked})
		a.open = -1
		a.ended = e.ends && (a.ended || e.role != RolePeer)
	case kindSay, kindCall:
		t := a.answer(e)
		a.turns[t].masked += e.masked
		if e.kind == kindSay {
			a.turns[t].Text = joined(a.turns[t].Text, e.text)
			a.turns[t].Complete = e.ends
		} else {
			a.calls[e.id] = callAt{t, len(a.turns[t].Tools)}
			a.turns[t].Tools = append(a.turns[t].Tools, ToolUse{Name: e.name, Input: e.text})
		}
		a.ended = e.ends
	case kindResult:
		a.result(e)
		a.sealed = true
		a.ended = false
	case kindBreak:
		a.sealed = true
	case kindStart:
		a.sealed, a.started = true, true
	case kindEnd:
		a.sealed, a.started = true, true
		if n := len(a.turns); n > 0 && a.turns[n-1].Role == RoleAssistant {
			a.turns[n-1].Complete = true
		}
		a.ended = true
	}
}

// dropSummary takes back the answer that became the text of a compaction: Codex
// writes the summary down as an answer first.
func (a *assembler) dropSummary(e event) {
	n := len(a.turns) - 1
	if e.role != RoleSystem || n < 0 || a.turns[n].Role != RoleAssistant || len(a.turns[n].Tools) > 0 {
		return
	}
	if strings.HasPrefix(e.text, "Conversation compacted") && a.turns[n].Text != "" && strings.HasSuffix(e.text, a.turns[n].Text) {
		a.turns = a.turns[:n]
	}
}

// answer returns the index of the turn that words or a call belong to.
func (a *assembler) answer(e event) int {
	if e.group != "" {
		if i, ok := a.groups[e.agent+e.group]; ok {
			return i
		}
	} else if a.open >= 0 && !a.sealed {
		return a.open
	}
	a.turns = append(a.turns, Turn{Role: RoleAssistant, At: e.at, Agent: e.agent})
	a.open, a.sealed = len(a.turns)-1, false
	if e.group != "" {
		a.groups[e.agent+e.group] = a.open
	}
	return a.open
}

// result pairs a tool's result with its call. One whose call is not there
// becomes a turn of its own.
func (a *assembler) result(e event) {
	at, ok := a.calls[e.id]
	if !ok {
		a.turns = append(a.turns, Turn{
			Role: RoleTool, At: e.at, Complete: true, Agent: e.agent, masked: e.masked,
			Tools: []ToolUse{{Output: e.text, Failed: e.failed, Done: true}},
		})
		a.open = -1
		return
	}
	a.turns[at.turn].masked += e.masked
	tool := &a.turns[at.turn].Tools[at.tool]
	tool.Output, tool.Failed, tool.Done = joined(tool.Output, e.text), e.failed, true
}

// finish marks the answers that are complete: each is once something follows
// it, provided that its tools are done.
func (a *assembler) finish() []Turn {
	if n := len(a.turns); n > 0 && !a.started && len(a.groups) == 0 && a.turns[n-1].Role == RoleAssistant {
		a.ended = len(a.turns[n-1].Tools) == 0
	}
	for i := range a.turns {
		t := &a.turns[i]
		if t.Role != RoleAssistant {
			continue
		}
		t.Complete = t.Complete || i < len(a.turns)-1 || a.ended || t.Text == ""
		for _, tool := range t.Tools {
			t.Complete = t.Complete && tool.Done
		}
	}
	return a.turns
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// withoutRewound leaves out what the user took back, and counts its prompts. It
// reports whether some of that may be among the first events: then a prompt
// continues from a record that is not here.
func withoutRewound(events []event) (out []event, rewound int, cut bool) {
	at := map[string]int{} // uuid -> index in out
	spoken := false        // something stands in out that could be taken back
	for _, e := range events {
		switch {
		case e.kind == kindRollback:
			from := promptsBack(out, e.n)
			rewound += promptCount(out[from:])
			out = out[:from]
			continue
		case e.kind == kindPrompt && e.role == RoleUser && e.parent != "":
			if i, ok := at[e.parent]; ok {
				rewound += dropBranch(out, i)
			} else {
				cut = cut || spoken
			}
		}
		if e.uuid != "" {
			at[e.uuid] = len(out)
			spoken = spoken || e.kind != kindLink
		}
		out = append(out, e)
	}
	return out, rewound, cut
}

// promptsBack returns the index of the n-th of the user's prompts from the end.
func promptsBack(events []event, n int) int {
	for i := len(events) - 1; i >= 0; i-- {
		if n <= 0 {
			return i + 1
		}
		if events[i].kind == kindPrompt && events[i].role == RoleUser {
			n--
		}
		if n == 0 {
			return i
		}
	}
	return 0
}

func promptCount(events []event) int {
	n := 0
	for _, e := range events {
		if e.kind == kindPrompt && e.role == RoleUser {
			n++
		}
	}
	return n
}

// dropBranch empties what descends from events[from], if a prompt of the user
// is among it: the next prompt continues from there, so the user went back.
// Without such a prompt it is only records written at the same time, which
// Claude also hangs side by side. Emptied events keep their place.
func dropBranch(events []event, from int) (prompts int) {
	line := map[string]bool{events[from].uuid: true}
	var branch []int
	for i := from + 1; i < len(events); i++ {
		e := events[i]
		if e.uuid == "" || !line[e.parent] {
			continue
		}
		line[e.uuid] = true
		branch = append(branch, i)
		if e.kind == kindPrompt && e.role == RoleUser {
			prompts++
		}
	}
	if prompts == 0 {
		return 0
	}
	for _, i := range branch {
		events[i] = event{}
	}
	return prompts
}
