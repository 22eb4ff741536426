package mockmodel

import (
	"regexp"
	"slices"
	"strings"
)

// A Message is one message of a model request in a form that both APIs share.
type Message struct {
	Role string // user, system (Codex: developer), tool (a tool's result) or assistant
	Text string
}

// A Rule makes the model play the script Do once When has reached it, by mail, a
// hook's context or a tool's result. {{message_id}} in a tool input of Do stands
// for the peermux message that When was found in.
type Rule struct {
	When string
	Do   string
}

// Decide is the model: the next answer to a conversation. The newest message that
// has a script or meets a rule decides; its script's steps are played one an
// answer, and the error tells what in it was not well formed.
func Decide(messages []Message, rules []Rule) (Step, error) {
	for i := len(messages) - 1; i >= 0; i-- {
		steps, err := steps(messages[i], rules)
		if len(steps) == 0 && err == nil {
			continue
		}
		after := messages[i+1:]
		if k := answers(after); k < len(steps) && (steps[k].Fail == "" || !prompted(after)) {
			return steps[k], err
		}
		return echo(messages), err
	}
	return echo(messages), nil
}

// steps returns the script that a message starts: its own when a person could
// have typed it, else that of the first rule it meets.
func steps(m Message, rules []Rule) ([]Step, error) {
	if m.Role == "assistant" {
		return nil, nil
	}
	if m.Role == "user" && !reminder(m.Text) && strings.Contains(m.Text, "[[") {
		if s, err := ParseScript(m.Text); len(s) > 0 || err != nil {
			return s, err
		}
	}
	for _, r := range rules {
		at := strings.Index(m.Text, r.When)
		if at < 0 {
			continue
		}
		return ParseScript(strings.ReplaceAll(r.Do, "{{message_id}}", messageID(m.Text, at)))
	}
	return nil, nil
}

// prompted reports whether another turn has begun since: one that failed left no
// answer.
func prompted(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return m.Role == "user" && !reminder(m.Text) })
}

// reminder reports whether Claude Code wrote the text itself (its notices and the
// hooks' contexts), so that a script quoted in it is not played a second time.
func reminder(text string) bool { return strings.HasPrefix(text, "<system-reminder>") }

// answers counts the model's answers. Codex lists each tool call of one answer as
// an item of its own, so what stands together is one answer.
func answers(messages []Message) int {
	n, inside := 0, false
	for _, m := range messages {
		if is := m.Role == "assistant"; is != inside {
			inside = is
			if is {
				n++
			}
		}
	}
	return n
}

// idRE finds a message id where peermux shows one: "id 01…" in the header of a
// message, message_id: "01…" in the call that answers it, "message_id":"01…" in
// a tool's result.
var idRE = regexp.MustCompile(`id\W{1,8}([0-9A-HJKMNP-TV-Z]{26})`)

// messageID returns the id that belongs to the text at position at: the last one
// before it, else the first one after it.
func messageID(text string, at int) string {
	var id string
	for _, m := range idRE.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > at && id != "" {
			break
		}
		id = text[m[2]:m[3]]
	}
	return id
}

func echo(messages []Message) Step {
	var results, texts []string
	for i := len(messages) - 1; i >= 0 && messages[i].Role != "assistant"; i-- {
		switch m := messages[i]; {
		case m.Role == "tool":
			results = append(results, m.Text)
		case m.Role == "user" && !reminder(m.Text):
			texts = append(texts, m.Text)
		}
	}
	if len(results) > 0 {
		return Step{Say: "DONE result=" + harmless(results, 300)}
	}
	return Step{Say: "OK " + harmless(texts, 200)}
}

// harmless joins texts, oldest first, so that the model's own answer can never be
// read as a script later.
func harmless(newestFirst []string, limit int) string {
	var b strings.Builder
	for i := len(newestFirst) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteString(" / ")
		}
		b.WriteString(strings.ReplaceAll(newestFirst[i], "[[", "<<"))
	}
	if b.Len() > limit {
		return strings.ToValidUTF8(b.String()[:limit], "")
	}
	return b.String()
}
