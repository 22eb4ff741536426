package doctor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"peermux/hookscripts"
)

// tested are the client versions that peermux was run with, end to end.
func tested(client string) (oldest, newest string) {
	switch client {
	case hookscripts.Claude:
		return "2.1.197", "2.1.328"
	case hookscripts.Codex:
		return "0.171.0", "0.171.0"
	}
	return "", ""
}

var threeNumbers = regexp.MustCompile(`\d+\.\d+\.\d+`)

// untested reports whether a client's version is outside the tested ones, and words
// those. A version that is not told, and a client that we know none of, is not.
func untested(client, version string) (span string, outside bool) {
	oldest, newest := tested(client)
	version = threeNumbers.FindString(version)
	if oldest == "" || version == "" {
		return "", false
	}
	return "tested: " + oldest + " to " + newest, compare(version, oldest) < 0 || compare(version, newest) > 0
}

func setup(client string) string { return "peermux setup --client " + client }

// client looks at one client: is it there, in a version we know, set up, and
// have its hooks ever fired.
func (e *examination) client(name string) {
	how, found := e.Client.Found(name)
	if !found {
		e.find(Finding{Severity: Note, Area: name, What: "not found on this machine", Evidence: "neither its program nor its folder"})
		return
	}
	e.version(name)
	in, err := hookscripts.Inspect(e.Client, name)
	if err != nil {
		e.cannot(name, "its settings", err)
		return
	}
	if !in.Installed() && in.Server == "" && !in.Plugin {
		e.find(Finding{Severity: Error, Area: name, What: "not connected", Evidence: how, Mend: setup(name)})
		return
	}
	e.settings(in)
	if name == hookscripts.Codex && in.Installed() {
		e.trust()
	}
	e.fired(name)
}

func (e *examination) settings(in hookscripts.Inspection) {
	clean := true
	report := func(severity Severity, what, evidence string) {
		clean = false
		e.find(Finding{Severity: severity, Area: in.Client, What: what, Evidence: evidence, Mend: setup(in.Client)})
	}
	for _, p := range in.Problems {
		clean = false
		// A person's edit: setup leaves such a file, and such a choice, alone.
		e.find(Finding{Severity: Error, Area: in.Client, What: "the client does not read its settings", Evidence: p, Mend: "change that in the file, then " + setup(in.Client)})
	}
	if len(in.Missing) > 0 && !in.Plugin {
		report(Error, "hooks are missing", in.HooksFile+" has none for "+strings.Join(in.Missing, ", "))
	}
	if in.Plugin && in.Installed() {
		clean = false
		e.find(Finding{
			Severity: Warning, Area: in.Client, What: "hooks are there twice, by setup and by the plugin", Evidence: in.HooksFile,
			Mend: "keep one of the two: peermux setup --remove --client " + in.Client + ", or take the plugin out in the client",
		})
	}
	if len(in.Double) > 0 {
		report(Warning, "hooks are there twice", in.HooksFile+": "+strings.Join(in.Double, ", "))
	}
	if n := len(in.Stale); n == 1 {
		report(Warning, "a hook is not the one that would be installed now", in.Stale[0])
	} else if n > 1 {
		report(Warning, fmt.Sprintf("%d hooks are not those that would be installed now", n), "the first: "+in.Stale[0])
	}
	switch {
	case in.Server == "" && !in.Plugin:
		report(Error, "the MCP server is not registered", in.ServerFile)
	case in.ServerStale:
		report(Warning, "another MCP server program is registered than this one", in.Server)
	case in.Server != "" && !runnable(in.Server):
		report(Error, "the registered MCP server program is gone", in.Server)
	}
	if clean {
		evidence := in.HooksFile
		if in.Plugin {
			evidence = "the plugin is enabled"
		}
		e.find(Finding{Severity: OK, Area: in.Client, What: "hooks and MCP server are set up", Evidence: evidence})
	}
}

func runnable(program string) bool {
	info, err := os.Stat(program)
	return err == nil && info.Mode()&0o111 != 0
}

// trust is asked of Codex: a hook that it does not trust is skipped without a
// word (0.171.0).
func (e *examination) trust() {
	report, err := hookscripts.CodexTrust(e.ctx, e.Client)
	switch {
	case err != nil:
		e.cannot(hookscripts.Codex, "what it trusts", err)
	case report.OK():
		e.find(Finding{Severity: OK, Area: hookscripts.Codex, What: "the hooks are trusted", Evidence: fmt.Sprintf("codex app-server lists %d of ours as trusted", len(report.Hooks))})
	default:
		evidence := append(append([]string{}, report.Missing...), report.Warnings...)
		for _, h := range report.Hooks {
			if h.Status != "trusted" || !h.Enabled {
				evidence = append(evidence, h.Event+" is "+h.Status)
			}
		}
		e.find(Finding{Severity: Error, Area: hookscripts.Codex, What: "installed, not trusted: Codex skips the hooks", Evidence: strings.Join(evidence, "; "), Mend: setup(hookscripts.Codex) + ", or /hooks inside Codex"})
	}
}

// fired tells when each hook last ran, from what the hooks themselves recorded.
func (e *examination) fired(client string) {
	drops, err := e.Board.Registry.Drops()
	if err != nil {
		e.cannot(client, "what its hooks recorded", err)
		return
	}
	last := map[string]time.Time{}
	for _, d := range drops {
		if d.Client != client {
			continue
		}
		for event, at := range d.Hooks {
			if at.After(last[event]) {
				last[event] = at
			}
		}
	}
	if len(last) == 0 {
		e.find(Finding{Severity: Note, Area: client, What: "no hook has fired in a session that is running", Evidence: "nothing recorded", Mend: "start a session; one that was running before setup has to be restarted"})
		return
	}
	var each []string
	for _, event := range slices.Sorted(maps.Keys(last)) {
		each = append(each, fmt.Sprintf("%s %s ago", event, e.Now().Sub(last[event]).Round(time.Second)))
	}
	e.find(Finding{Severity: OK, Area: client, What: "hooks have fired", Evidence: strings.Join(each, ", ")})
}

// version compares the installed client with the versions that were tested.
func (e *examination) version(client string) {
	path, err := exec.LookPath(client)
	if err != nil {
		return // there is a folder of it, but no program on PATH: Found said so
	}
	if strings.HasSuffix(strings.ToLower(path), ".exe") || windowsSide(path) {
		e.find(Finding{Severity: Warning, Area: client, What: "the client is a Windows program; it cannot run Linux hooks", Evidence: path, Mend: "install the client inside WSL and put it first on PATH"})
	}
	ctx, cancel := context.WithTimeout(e.ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	version := threeNumbers.FindString(string(out))
	if err != nil || version == "" {
		e.find(Finding{Severity: Warning, Area: client, What: "does not tell its version", Evidence: fmt.Sprintf("%s --version: %v %s", path, err, firstLine(string(out)))})
		return
	}
	if span, outside := untested(client, version); outside {
		e.find(Finding{Severity: Note, Area: client, What: "version " + version + " is outside what was tested", Evidence: span, Mend: "watch the first wake with peermux wake NAME --explain"})
		return
	}
	e.find(Finding{Severity: OK, Area: client, What: "version " + version, Evidence: path})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// compare orders two versions of three numbers.
func compare(a, b string) int {
	var x, y [3]int
	// Both come from the pattern \d+\.\d+\.\d+, so they scan.
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:])
}
