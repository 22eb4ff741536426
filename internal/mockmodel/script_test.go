package mockmodel

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func call(name, input string) Call { return Call{Name: name, Input: json.RawMessage(input)} }

func TestParseScript(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Step
		bad        string // a part of the error
	}{
		{"no script", "hello [world] [[unknown x]]", nil, ""},
		{"say", "go [[say done]] please", []Step{{Say: "done"}}, ""},
		{"fail", "go [[say a]] [[fail no money]]", []Step{{Say: "a"}, {Fail: "no money"}}, ""},
		{"say to the end", "[[say no end", []Step{{Say: "no end"}}, ""},
		{"delay adds up", "[[delay 1]] [[delay 0.5]] [[say x]]", []Step{{Delay: 1500 * time.Millisecond, Say: "x"}}, ""},
		{"a delay alone is an answer", "[[delay 2]]", []Step{{Delay: 2 * time.Second}}, ""},
		{"tool then say", `[[tool Bash {"command":"ls ]] {x"}]] [[say ok]]`,
			[]Step{{Calls: []Call{call("Bash", `{"command":"ls ]] {x"}`)}}, {Say: "ok"}}, ""},
		{"tool without input", "[[tool list]] [[say ok]]", []Step{{Calls: []Call{call("list", "{}")}}, {Say: "ok"}}, ""},
		{"par joins the next tool", `[[par a {"n":1}]] [[tool b {"n":2}]]`,
			[]Step{{Calls: []Call{call("a", `{"n":1}`), call("b", `{"n":2}`)}}}, ""},
		{"a script inside a tool's input stays text", `[[tool ask {"body":"do [[say \"x\"]] {"}]] [[say end]]`,
			[]Step{{Calls: []Call{call("ask", `{"body":"do [[say \"x\"]] {"}`)}}, {Say: "end"}}, ""},
		{"bad json is named and left out", `[[tool a {"n":}]] [[say ok]]`, []Step{{Say: "ok"}}, "tool a: not JSON"},
		{"bad delay is named and left out", `[[delay soon]] [[say ok]]`, []Step{{Say: "ok"}}, `delay "soon"`},
		{"NaN is no delay", `[[delay NaN]] [[say ok]]`, []Step{{Say: "ok"}}, `delay "NaN"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseScript(tt.text)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if (err != nil) != (tt.bad != "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("got error %v, want one with %q", err, tt.bad)
			}
		})
	}
}

func FuzzParseScript(f *testing.F) {
	for _, s := range []string{"[[say x]]", `[[tool a {"b":"]]"}]]`, "[[delay 1]][[par x", "[[tool", "[[tool ]]", `[[tool a }}]]`, "[[[say x]]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		steps, _ := ParseScript(s) // what is not well formed is left out; here only that no input crashes or yields invalid calls
		for _, step := range steps {
			for _, c := range step.Calls {
				if c.Name == "" || !json.Valid(c.Input) {
					t.Errorf("call %q with input %q", c.Name, c.Input)
				}
			}
		}
	})
}

func TestDecide(t *testing.T) {
	const id1, id2 = "01K5Z7Q8R9S0T1V2W3X4Y5Z6A7", "01K5Z7Q8R9S0T1V2W3X4Y5Z6B8"
	frame := "Question from a (Codex), now, id " + id2 + "\n| other\nTo answer: reply_to_message(message_id: \"" + id2 + "\")\n" +
		"Question from b (Codex), now, id " + id1 + "\n| which port?\nTo answer: reply_to_message(message_id: \"" + id1 + "\")\n"
	rules := []Rule{{When: "which port?", Do: `[[tool mcp__peermux__reply_to_message {"message_id":"{{message_id}}","body":"5432"}]] [[say answered]]`}}
	user := func(s string) Message { return Message{"user", s} }
	asst := Message{"assistant", "…"}
	tests := []struct {
		name     string
		messages []Message
		want     string
	}{
		{"echo", []Message{user("hi [[")}, `say "OK hi <<" delay=0s`},
		{"first step", []Message{user("[[say one]][[say two]]")}, `say "one" delay=0s`},
		{"second step", []Message{user("[[say one]][[say two]]"), asst, {"tool", "r"}}, `say "two" delay=0s`},
		{"after the end", []Message{user("[[say one]]"), asst, user("more")}, `say "OK more" delay=0s`},
		{"parallel calls are one answer", []Message{user("[[par a]][[tool b]][[say two]]"), asst, asst, {"tool", "r"}, {"tool", "s"}}, `say "two" delay=0s`},
		{"result", []Message{user("x"), asst, {"tool", "r"}, {"tool", "s"}}, `say "DONE result=r / s" delay=0s`},
		{"a turn fails", []Message{user("[[fail no]]"), {"system", "context"}}, `fail "no" delay=0s`},
		{"and the next does not", []Message{user("[[fail no]]"), user("more")}, `say "OK <<fail no]] / more" delay=0s`},
		{"newest script wins", []Message{user("[[say one]]"), asst, user("[[say new]]")}, `say "new" delay=0s`},
		{"a script in the client's own notice is not played", []Message{user("<system-reminder>[[say no]]"), user("x")}, `say "OK x" delay=0s`},
		{"mail meets a rule", []Message{user("wake."), {"system", frame}},
			`tool mcp__peermux__reply_to_message {"message_id":"` + id1 + `","body":"5432"} delay=0s`},
		{"mail in a notice meets a rule too", []Message{user("<system-reminder>" + frame), asst, {"tool", "ok"}}, `say "answered" delay=0s`},
		{"the asker's own script beats the rule", []Message{user(`[[tool ask {"body":"which port?"}]]`), asst, {"tool", "5432"}}, `say "DONE result=5432" delay=0s`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decide(tt.messages, rules)
			if err != nil || got.String() != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}
