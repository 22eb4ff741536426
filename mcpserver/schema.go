package mcpserver

import (
	"embed"
	"encoding/json"
	"fmt"
)

// The schemas are files and not computed at start: reflecting them took 6 ms,
// and `initialize` has to be answered within 15. The test of this package makes
// them from the parameter and result structs and fails when they differ;
// `go test ./mcpserver -update` writes them.
//
//go:embed schema/*.json
var schemaFiles embed.FS

func schemas(tool string) (in, out json.RawMessage, err error) {
	in, err = schemaFiles.ReadFile("schema/" + tool + ".input.json")
	if err != nil {
		return nil, nil, fmt.Errorf("the input schema of %s is missing: %v", tool, err)
	}
	out, err = schemaFiles.ReadFile("schema/" + tool + ".output.json")
	if err != nil {
		return nil, nil, fmt.Errorf("the output schema of %s is missing: %v", tool, err)
	}
	return in, out, nil
}
