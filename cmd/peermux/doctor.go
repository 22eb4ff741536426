package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"peermux/hookscripts"
	"peermux/internal/doctor"
)

func doctorCommand() command {
	return command{
		name: "doctor", short: "check that everything works, and say what mends what does not",
		long:     "Looks for effects: which hook fired when, what Codex trusts, who is alive. Exits with 1 when\nsomething is to be mended.",
		examples: []string{"peermux doctor", "peermux doctor --fix"},
		flags: func(fs *flag.FlagSet) runFunc {
			fix := fs.Bool("fix", false, "mend what can be mended without harm")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				p, err := a.patient()
				if err != nil {
					return err
				}
				fixed := []string{}
				if *fix {
					mended, err := doctor.Fix(p)
					if err != nil {
						return err
					}
					fixed = append(fixed, mended...)
				}
				return a.report(doctor.Examine(ctx, p), fixed, *asJSON)
			}
		},
	}
}

func (a *app) patient() (doctor.Patient, error) {
	b, err := a.board()
	if err != nil {
		return doctor.Patient{}, err
	}
	executable, err := os.Executable()
	if err != nil {
		return doctor.Patient{}, err
	}
	env, err := hookscripts.NewEnv(a.env, a.now, hookscripts.StablePath(os.Args[0], executable))
	return doctor.Patient{Board: b, Client: env, Now: a.now, WSL: doctor.OnWSL()}, err
}

func (a *app) report(findings []doctor.Finding, fixed []string, asJSON bool) error {
	worst := doctor.Worst(findings)
	if asJSON {
		if err := writeJSON(a.out, map[string]any{"ok": worst == doctor.OK || worst == doctor.Note, "worst": worst, "findings": findings, "fixed": fixed}); err != nil {
			return err
		}
	} else {
		a.printFindings(findings, fixed)
	}
	if worst == doctor.Warning || worst == doctor.Error {
		return coded(exitFailed)
	}
	return nil
}

func (a *app) printFindings(findings []doctor.Finding, fixed []string) {
	for _, f := range fixed {
		fmt.Fprintln(a.out, "fixed: "+f)
	}
	signs := map[doctor.Severity]string{doctor.OK: "✓", doctor.Note: "·", doctor.Warning: "!", doctor.Error: "✗"}
	for _, f := range findings {
		fmt.Fprintf(a.out, "%s %-9s %s\n", signs[f.Severity], f.Area, clean(f.What))
		if f.Evidence != "" {
			fmt.Fprintf(a.out, "            %s\n", clean(f.Evidence))
		}
		if f.Mend != "" {
			fmt.Fprintf(a.out, "            → %s\n", f.Mend)
		}
	}
}
