package agentsim

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds both programs of this module into dir, as they are shipped, for
// tests that run agents with the real peermux. The build cache makes it cheap.
func Build(ctx context.Context, dir string) (peermux, hook string, err error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", dir+string(filepath.Separator),
		"peermux/cmd/peermux", "peermux/cmd/peermux-hook")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return filepath.Join(dir, "peermux"), filepath.Join(dir, "peermux-hook"), nil
}
