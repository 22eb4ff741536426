package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"peermux/hookscripts"
	"peermux/internal/fleet"
	"peermux/internal/project"
	"peermux/wake"
)

// configs reads the files of the home that people write, or that stand for what they
// asked for.
func (e *examination) configs() {
	home := e.Board.Home
	if err := wake.CheckFile(home); err != nil {
		e.find(Finding{Severity: Error, Area: "files", What: "wake.toml is wrong: none of it counts", Evidence: err.Error(), Mend: "correct " + filepath.Join(home, "wake.toml")})
	}
	if path := filepath.Join(home, "groups.json"); ours(path) {
		if _, err := project.LoadGroups(home); err != nil {
			e.find(Finding{Severity: Error, Area: "files", What: "groups.json is damaged: no project is in a group", Evidence: err.Error(), Mend: "remove " + path + ", then peermux group NAME in each project"})
		}
	}
	remembered, err := filepath.Glob(filepath.Join(home, "fleets", "*.json"))
	if err != nil || slices.ContainsFunc(remembered, func(path string) bool { return !ours(path) }) {
		return
	}
	for _, err := range fleet.Check(home) {
		e.find(Finding{Severity: Warning, Area: "files", What: "what peermux up started cannot be read", Evidence: err.Error(), Mend: "end its panes by hand, then remove that file"})
	}
}

// ours reports whether a file is there and the user's alone. What is not has a
// finding already, and reading it the usual way would tighten its mode, which is for
// Fix to do.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	why, _ := exposed(info)
	return why == closed
}

// wsl looks for what WSL cannot join: the Windows side keeps no locks and modes that
// count here, and its programs cannot run what is installed here.
func (e *examination) wsl() {
	if !e.WSL {
		return
	}
	mixed := false
	if windowsSide(e.Board.Home) {
		mixed = true
		e.find(Finding{Severity: Error, Area: "system", What: "the home is on a Windows drive, where locks and modes do not hold", Evidence: e.Board.Home, Mend: "set PEERMUX_HOME to a folder of the Linux side, such as ~/.peermux"})
	}
	for client, dir := range map[string]string{hookscripts.Claude: e.Client.ClaudeDir, hookscripts.Codex: e.Client.CodexHome} {
		if _, found := e.Client.Found(client); found && windowsSide(dir) {
			mixed = true
			e.find(Finding{Severity: Warning, Area: client, What: "its folder is on a Windows drive: a client of the Windows side would run these hooks too", Evidence: dir, Mend: "give the client inside WSL a folder of its own"})
		}
	}
	if !mixed {
		e.find(Finding{Severity: OK, Area: "system", What: "inside WSL, and all of it on the Linux side", Evidence: e.Board.Home})
	}
}

var windowsDrive = regexp.MustCompile(`^/mnt/[a-z](/|$)`)

// windowsSide reports whether a path is on the Windows side of WSL, where drives are
// mounted by default.
func windowsSide(path string) bool {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return windowsDrive.MatchString(path)
}

// OnWSL reports whether this program runs in Windows' subsystem for Linux, whose
// kernels say so in their release: Microsoft in WSL 1, microsoft in WSL 2.
func OnWSL() bool {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && strings.Contains(strings.ToLower(string(release)), "microsoft")
}
