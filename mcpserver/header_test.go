package mcpserver

import (
	"errors"
	"testing"
)

// Arrays and bare values are valid JSON and no messages; the error names no Go type.
func TestHeaderOfNoObject(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `5`, `"x"`, `true`} {
		if _, err := parseHeader([]byte(line)); !errors.Is(err, errNotObject) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := parseHeader([]byte(`{`)); err == nil || errors.Is(err, errNotObject) {
		t.Errorf("half an object: %v", err)
	}
}
