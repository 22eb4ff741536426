package transcript

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const bigSize = 200 << 20

// bigClaude writes a Claude transcript of 200 MB out of the turns of a real one:
// prompts, answers, tools with outputs of some kilobytes, and the client's own
// bookkeeping, which is the larger part since 2.1.328.
func bigClaude(b *testing.B) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "projects", "-home-dev-parser", testSession+".jsonl")
	c := new(claude)
	output := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 100)
	for i := range 20 {
		id := fmt.Sprintf("toolu_%d", i)
		c.user("look at the parser again and say what is wrong").call(id, "go test ./...").result(id, output)
		c.raw(`{"type":"api-request-blob","sessionId":"` + testSession + `","hash":"0f4a","message":{"role":"user","content":[{"type":"text","text":` + quote(output) + `}]}}`)
		c.add("attachment", `"attachment":{"type":"prompt_snapshot","systemPrompt":[`+quote(strings.Repeat("You are an agent. ", 600))+`]}`)
		c.say("The tokenizer drops the last field when the line ends with a comma.")
	}
	writeBig(b, file, c.String())
	return file
}

func bigCodex(b *testing.B) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "sessions/2026/11/30", "rollout-2026-11-30T11-36-46-01a22c3e-3d25-7600-954a-a64ebaa0240f.jsonl")
	writeBig(b, file, string(readFile(b, "testdata/codex-0.98.0/sessions/2026/11/30/"+filepath.Base(file))))
	return file
}

func writeBig(b *testing.B, file, block string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for n := 0; n < bigSize; n += len(block) {
		if _, err := w.WriteString(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// Budget: 20 ms.
func BenchmarkTail200MB(b *testing.B) {
	for _, tt := range []struct {
		name string
		file string
	}{{"claude", bigClaude(b)}, {"codex", bigCodex(b)}} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if tail := mustRead(b, tt.file, Options{}); len(tail.Turns) != 20 {
					b.Fatalf("%d turns", len(tail.Turns))
				}
			}
		})
	}
}

// A tail that ends with a tool output of 40 MB.
func BenchmarkTailLongLine(b *testing.B) {
	c := new(claude).user("go").call("c1", "cat").result("c1", strings.Repeat("0123456789abcdef", 40<<16)).say("ok")
	file, _ := c.write(b)
	b.ReportAllocs()
	for b.Loop() {
		mustRead(b, file, Options{})
	}
}

// Budget: 500 MB/s on one core.
func BenchmarkGrep(b *testing.B) {
	for _, tt := range []struct {
		name, file, pattern string
	}{
		{"claude/literal-absent", bigClaude(b), "zebra crossing"},
		{"codex/literal-absent", bigCodex(b), "zebra crossing"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(bigSize)
			b.ReportAllocs()
			for b.Loop() {
				err := Grep(context.Background(), []string{tt.file}, GrepOptions{Pattern: tt.pattern}, func(Match) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Budget: 1,000 conversations in 150 ms.
func BenchmarkList1000(b *testing.B) {
	home := b.TempDir()
	claudeFile := readFile(b, "testdata/claude-2.1.328/projects/-home-dev-parser/a750a379-b077-4522-9365-15b76d5dae3d.jsonl")
	codexFile := readFile(b, "testdata/codex-0.171.0/sessions/2026/11/30/rollout-2026-11-30T11-32-39-01a22c3a-79f8-7611-ab5b-377b9c4b5195.jsonl")
	for i := range 500 {
		id := fmt.Sprintf("%08x-b077-4522-9365-15b76d5dae3d", i)
		// Larger than what is read of a file.
		data := strings.Repeat(strings.ReplaceAll(string(claudeFile), "a750a379-b077-4522-9365-15b76d5dae3d", id), 4)
		writeFile(b, filepath.Join(home, "projects", "-home-dev-parser", id+".jsonl"), data)
		id = fmt.Sprintf("01a22c3a-%04x-7611-ab5b-377b9c4b5195", i)
		data = strings.Repeat(strings.ReplaceAll(string(codexFile), "01a22c3a-79f8-7611-ab5b-377b9c4b5195", id), 4)
		day := fmt.Sprintf("sessions/2026/11/%02d", 1+i%30)
		writeFile(b, filepath.Join(home, day, "rollout-2026-11-30T11-32-39-"+id+".jsonl"), data)
	}
	b.ReportAllocs()
	for b.Loop() {
		list, err := List(context.Background(), ListOptions{ClaudeDir: home, CodexHome: home, Dirs: []string{"/home/dev/parser"}})
		if err != nil || len(list) != 1000 {
			b.Fatalf("%d conversations, %v", len(list), err)
		}
	}
}

func BenchmarkMask(b *testing.B) {
	text := strings.Repeat("the quick brown fox: jumps = over the lazy dog, token: string\n", 300)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Mask(text)
	}
}
