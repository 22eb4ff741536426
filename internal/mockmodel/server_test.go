package mockmodel

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T) (*Server, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

// post sends a body and returns the events of the streamed answer by type.
func post(t *testing.T, url, body string, header http.Header) map[string][]map[string]any {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body) // only for the failure's text
		t.Fatalf("status %d: %s", res.StatusCode, b)
	}
	events := map[string][]map[string]any{}
	for sc := bufio.NewScanner(res.Body); sc.Scan(); {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		events[e["type"].(string)] = append(events[e["type"].(string)], e)
	}
	return events
}

func TestAnthropic(t *testing.T) {
	s, dir := start(t)
	const body = `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"system":[{"type":"text","text":"SYS"}],"messages":[
		{"role":"user","content":[{"type":"text","text":"go [[tool Bash {\"command\":\"ls\"}]] [[say done]]"}]},
		{"role":"system","content":"CTX"}%s]}`
	header := http.Header{"X-Claude-Code-Session-Id": {"sess-1"}}
	got := post(t, s.URL()+"/v1/messages?beta=true", fmt.Sprintf(body, ""), header)
	start := got["content_block_start"][0]["content_block"].(map[string]any)
	delta := got["content_block_delta"][0]["delta"].(map[string]any)
	if start["name"] != "Bash" || delta["partial_json"] != `{"command":"ls"}` {
		t.Errorf("tool call: got %v %v", start, delta)
	}
	if stop := got["message_delta"][0]["delta"].(map[string]any)["stop_reason"]; stop != "tool_use" {
		t.Errorf("stop_reason: got %v", stop)
	}
	got = post(t, s.URL()+"/v1/messages", fmt.Sprintf(body, `,{"role":"assistant","content":[{"type":"tool_use","name":"Bash","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"RESULT"}]}]}`), header)
	if d := got["content_block_delta"][0]["delta"].(map[string]any); d["text"] != "done" {
		t.Errorf("second answer: got %v", d)
	}
	all := s.Of("sess-1")
	if len(all) != 2 || all[1].Told("RESULT") != 1 || all[1].Told("CTX") != 1 || all[1].Told("SYS") != 1 || all[1].Told("Bash") != 1 {
		t.Errorf("requests: %+v", all)
	}
	if _, err := os.Stat(filepath.Join(dir, "0002.json")); err != nil {
		t.Error(err)
	}
}

func TestOpenAI(t *testing.T) {
	s, _ := start(t)
	s.When("MAIL", `[[tool mcp__peermux__reply_to_message {"body":"x"}]]`)
	body := `{"model":"m","tools":[{"type":"function","name":"exec_command"}],"input":[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"wake"}]},
		{"type":"message","role":"developer","content":[{"type":"input_text","text":"MAIL"}]}]}`
	got := post(t, s.OpenAIURL()+"/responses", body, http.Header{"Thread-Id": {"th-1"}})
	item := got["response.output_item.done"][0]["item"].(map[string]any)
	if item["type"] != "function_call" || item["name"] != "reply_to_message" || item["namespace"] != "mcp__peermux" {
		t.Errorf("a deferred MCP tool: got %v", item)
	}
	title := `{"model":"m","tools":[{"type":"function","name":"exec_command"}],"input":[]}`
	post(t, s.OpenAIURL()+"/responses", title, http.Header{"Thread-Id": {"th-1"}, "X-Codex-Turn-Metadata": {`{"thread_source":"thread_title"}`}})
	if all := s.Of("th-1"); len(all) != 1 || all[0].Told("MAIL") != 1 {
		t.Errorf("requests of the thread: %+v", all)
	}
}

func TestFails(t *testing.T) {
	s, _ := start(t)
	for path, body := range map[string]string{
		"/v1/messages":  `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"[[fail no money]]"}]}`,
		"/v1/responses": `{"model":"m","tools":[{"type":"function","name":"exec_command"}],"input":[{"role":"user","content":"[[fail no money]]"}]}`,
	} {
		resp, err := http.Post(s.URL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(data), "no money") {
			t.Errorf("%s: got %d %s %v", path, resp.StatusCode, data, err)
		}
	}
}

func TestOpenAIToolNames(t *testing.T) {
	body := openaiBody{Tools: []tool{{Type: "function", Name: "exec_command"}, {Type: "custom", Name: "apply_patch"},
		{Type: "namespace", Name: "mcp__probe", Tools: []tool{{Name: "echo"}}}},
		Input: []item{{Type: "tool_search_output", Tools: []tool{{Type: "namespace", Name: "mcp__found"}}}}}
	tests := []struct {
		in, name, namespace string
		custom              bool
	}{
		{"exec_command", "exec_command", "", false},
		{"apply_patch", "apply_patch", "", true},
		{"mcp__probe__echo", "echo", "mcp__probe", false},
		{"mcp__probe2__echo", "echo", "mcp__probe2", false},
		{"echo", "echo", "mcp__probe", false},
		{"mcp__found__x", "x", "mcp__found", false},
	}
	for _, tt := range tests {
		if name, ns, custom := body.resolve(tt.in); name != tt.name || ns != tt.namespace || custom != tt.custom {
			t.Errorf("%s: got %s, %s, %v", tt.in, name, ns, custom)
		}
	}
}

func TestRequestEncodings(t *testing.T) {
	s, _ := start(t)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, `{"input":[],"tools":[{"name":"shell"}]}`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	post(t, s.OpenAIURL()+"/responses", z.String(), http.Header{"Content-Encoding": {"gzip"}, "Thread-Id": {"z"}})
	if len(s.Of("z")) != 1 {
		t.Error("the gzip body was not read")
	}
	for enc, body := range map[string]string{"zstd": "x", "gzip": "x", "": "{"} {
		req, err := http.NewRequest(http.MethodPost, s.OpenAIURL()+"/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if enc != "" {
			req.Header.Set("Content-Encoding", enc)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q %q: got %d", enc, body, res.StatusCode)
		}
	}
}

// TestRefusesTheWorld shows that a client whose proxy is the mock reaches nothing.
func TestRefusesTheWorld(t *testing.T) {
	s, _ := start(t)
	proxy, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	if res, err := c.Get("https://example.invalid/"); err == nil {
		res.Body.Close()
		t.Error("CONNECT was served")
	}
	res, err := c.Get("http://example.invalid/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("plain proxy request: got %d", res.StatusCode)
	}
	if got := strings.Join(s.Refused(), " "); !strings.Contains(got, "CONNECT example.invalid:443") || !strings.Contains(got, "GET example.invalid") {
		t.Errorf("refused: %s", got)
	}
}

// TestClientHangsUp shows that a delayed answer ends with its client.
func TestClientHangsUp(t *testing.T) {
	s, _ := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages",
		strings.NewReader(`{"stream":true,"tools":[1],"messages":[{"role":"user","content":"[[delay 60]] [[say x]]"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	cancel()
	deadline := time.Now().Add(30 * time.Second)
	for !strings.Contains(strings.Join(s.Events(), "\n"), "CLIENT CLOSED") {
		if time.Now().After(deadline) {
			t.Fatalf("the answer still runs: %v", s.Events())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestWait(t *testing.T) {
	s, _ := start(t)
	done := make(chan error, 1)
	go func() {
		done <- s.Wait(t.Context(), func(all []Request) bool { return len(all) == 1 })
	}()
	post(t, s.URL()+"/v1/messages", `{"stream":true,"messages":[]}`, nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, func(all []Request) bool { return len(all) == 2 }); err == nil {
		t.Error("Wait returned without its request")
	}
}
