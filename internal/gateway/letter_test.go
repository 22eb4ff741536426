package gateway

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const id = "01KBB0T6Z2ABCDEFGHJKMNPQRS"
	for _, c := range []struct {
		name, text string
		want       Letter
	}{
		{"least", "---\n---\nhello\n", Letter{Kind: Tell, Urgency: "normal", Body: "hello"}},
		{"all", "---\nkind: ask\nurgency: high\nsubject: Which port: 80?\nreply_to: " + id + "\nfrom: voice\nto: ann\ndate: 2026-11-30T12:00:00Z\n---\n\ntwo\n---\nlines\n\n",
			Letter{Kind: Ask, Urgency: "high", Subject: "Which port: 80?", ReplyTo: id, From: "voice", To: "ann",
				Date: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Body: "two\n---\nlines"}},
		{"quotes", "---\nsubject: \"a \\\"b\\\": c\"\nfrom: 'it''s'\n---\nx", Letter{Kind: Tell, Urgency: "normal", Subject: `a "b": c`, From: "it's", Body: "x"}},
		{"dos", "\uFEFF---\r\nkind: tell\r\n---\r\nx\r\ny\r\n", Letter{Kind: Tell, Urgency: "normal", Body: "x\ny"}},
		{"withdraw", "---\nkind: withdraw\nreply_to: " + id + "\n---\n", Letter{Kind: Withdraw, Urgency: "normal", ReplyTo: id}},
		{"blank lines and no value", "---\n\nsubject:\n---\nx", Letter{Kind: Tell, Urgency: "normal", Body: "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse([]byte(c.text))
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, why string }{
		{"", "line 1"},
		{"hello", "line 1"},
		{"---\nkind: tell\n", "no end"},
		{"---\nkind: tell\nx", "no end"},
		{"---\nkind: order\n---\nx", `kind "order"`},
		{"---\nkind: Tell\n---\nx", `kind "Tell"`},
		{"---\nurgency: now\n---\nx", `urgency "now"`},
		{"---\nkind: tell\nkind: ask\n---\nx", "twice"},
		{"---\nwho: me\n---\nx", `"who" is no key`},
		{"---\n- list\n---\nx", "line 2"},
		{"---\n  kind: tell\n---\nx", "line 2"},
		{"---\nsubject: \"open\n---\nx", "double quotes"},
		{"---\nsubject: 'open\n---\nx", "single quotes"},
		{"---\nsubject: a\tb\n---\nx", "control"},
		{"---\nsubject: \"a\\nb\"\n---\nx", "control"},
		{"---\nsubject: " + strings.Repeat("x", 1001) + "\n---\nx", "longer than"},
		{"---\nreply_to: 123\n---\nx", "26 characters"},
		{"---\nreply_to: ../../etc/passwd\n---\nx", "26 characters"},
		{"---\ndate: tomorrow\n---\nx", "date"},
		{"---\nkind: withdraw\n---\nx", "reply_to"},
		{"---\nkind: tell\n---\n \n\t\n", "no text"},
		{"---\nkind: tell\n---\n" + strings.Repeat("x", 64<<10+1), "65537 bytes"},
		{"---\n" + strings.Repeat("\n", 17<<10) + "---\nx", "no end"},
		{"---\nkind: tell\n---\n\xff", "UTF-8"},
	} {
		if l, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%.60q: got %+v, %v; want an error with %q", c.text, l, err, c.why)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"---\nkind: ask\nsubject: \"x\"\n---\nbody", "---\r\n---\r\nx", "---\nsubject: ''''\n---\nx", "---\nsubject: #no\n---\n---\n", "---",
		"---\nsubject: \"\\u2028\"\nfrom: -\nto: \"null\"\n---\nx",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
				t.Errorf("a reason that fills no line: %q", err)
			}
			return
		}
		l.Date = l.Date.Truncate(time.Second).UTC()
		again, err := Parse(l.Format())
		if err != nil || again != l {
			t.Errorf("%+v became %+v, %v by\n%s", l, again, err, l.Format())
		}
	})
}
