package mockmodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Call is one tool call of the model. Input is a JSON object.
type Call struct {
	Name  string
	Input json.RawMessage
}

// A Step is one answer of the model: after Delay, the tool calls or the text; or
// no answer, but the error Fail.
type Step struct {
	Delay time.Duration
	Calls []Call
	Say   string
	Fail  string
}

// String is the step as the log shows it.
func (s Step) String() string {
	var b strings.Builder
	for _, c := range s.Calls {
		fmt.Fprintf(&b, "tool %s %s ", c.Name, c.Input)
	}
	if s.Fail != "" {
		fmt.Fprintf(&b, "fail %q ", s.Fail)
	} else if len(s.Calls) == 0 {
		fmt.Fprintf(&b, "say %q ", s.Say)
	}
	fmt.Fprintf(&b, "delay=%v", s.Delay)
	return b.String()
}

// commandRE matches the start of a script command.
var commandRE = regexp.MustCompile(`^\[\[(delay|tool|say|par|fail)\b ?`)

// ParseScript returns the steps written in text, which may hold anything around
// them. A command that is not well formed is left out; the error names each.
func ParseScript(text string) ([]Step, error) {
	p := parser{text: text}
	for {
		i := strings.Index(p.text[p.at:], "[[")
		if i < 0 {
			break
		}
		p.at += i
		m := commandRE.FindStringSubmatch(p.text[p.at:])
		if m == nil {
			p.at += 2
			continue
		}
		p.at += len(m[0])
		p.command(m[1])
	}
	if p.cur.Delay > 0 || len(p.cur.Calls) > 0 {
		p.end()
	}
	if len(p.bad) > 0 {
		return p.steps, fmt.Errorf("script: %s", strings.Join(p.bad, "; "))
	}
	return p.steps, nil
}

type parser struct {
	text  string
	at    int
	cur   Step
	steps []Step
	bad   []string
}

func (p *parser) end() {
	p.steps = append(p.steps, p.cur)
	p.cur = Step{}
}

func (p *parser) command(name string) {
	switch name {
	case "delay":
		word := p.toClose()
		seconds, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || !(seconds >= 0 && seconds <= 3600) {
			p.bad = append(p.bad, fmt.Sprintf("delay %q: want 0 to 3600 seconds", word))
			return
		}
		p.cur.Delay += time.Duration(seconds * float64(time.Second))
	case "say":
		p.cur.Say = p.toClose()
		p.end()
	case "fail":
		p.cur.Fail = p.toClose()
		p.end()
	default:
		p.call(name == "tool")
	}
}

// toClose takes the text up to the closing brackets, or all that is left.
func (p *parser) toClose() string {
	rest := p.text[p.at:]
	i := strings.Index(rest, "]]")
	if i < 0 {
		p.at = len(p.text)
		return rest
	}
	p.at += i + 2
	return rest[:i]
}

func (p *parser) call(ends bool) {
	rest := p.text[p.at:]
	n := strings.IndexAny(rest, " \t\n]")
	if n < 0 {
		n = len(rest)
	}
	if n == 0 {
		p.bad = append(p.bad, "a tool call without a name")
		return
	}
	name := rest[:n]
	start := p.at + n
	p.at = jsonEnd(p.text, start)
	input := json.RawMessage(strings.TrimSpace(p.text[start:p.at]))
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if !json.Valid(input) {
		p.bad = append(p.bad, fmt.Sprintf("tool %s: not JSON: %s", name, input))
		return
	}
	p.cur.Calls = append(p.cur.Calls, Call{Name: name, Input: input})
	if ends {
		p.end()
	}
}

// jsonEnd returns the index just after the balanced object that starts at k, or
// of the closing bracket when there is no object. Brackets inside strings do not
// count, so that a tool input may itself hold a script.
func jsonEnd(text string, k int) int {
	depth, inString := 0, false
	for ; k < len(text); k++ {
		c := text[k]
		switch {
		case inString && c == '\\':
			k++
		case inString:
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth <= 0 {
				return k + 1
			}
		case c == ']' && depth == 0:
			return k
		}
	}
	return len(text)
}
