// Command bench measures peermux beside its floor and its peers, all in one run:
// rounds are interleaved, so that a machine that slows down slows all rows down,
// and what counts is the ratio. It prints one table of medians with their spread
// (the middle half of the rounds) and writes the same as JSON.
//
//	make bench            under three minutes
//	make bench QUICK=1    half a minute
//
// Everything runs in a temporary home. BENCH_PEERS names a folder with the
// programs of other tools; bench/peers/README.md says how one is described.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "write" {
		exit(writer(os.Args[2:]))
	}
	quick := flag.Bool("quick", false, "fewer rounds, half a minute")
	out := flag.String("json", "bench.json", "write the figures to this `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, *quick, *out))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// row is one measured thing. once returns one figure, in the row's unit.
type row struct {
	group, name, unit string
	rounds            int
	floor             string // name of the row that this one cannot beat
	once              func(ctx context.Context) (float64, error)
}

// figure is a row's outcome.
type figure struct {
	Group  string  `json:"group"`
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`  // first quartile
	High   float64 `json:"high"` // third quartile
	Rounds int     `json:"rounds"`
	Floor  string  `json:"floor,omitempty"`
	Ratio  float64 `json:"ratio,omitempty"` // to the floor
}

func run(ctx context.Context, quick bool, out string) (err error) {
	dir, err := os.MkdirTemp("/tmp", "pmx-bench-") // short: sockets lie in it
	if err != nil {
		return err
	}
	l := &lab{dir: dir, quick: quick}
	defer func() {
		if clean := l.close(); err == nil {
			err = clean
		}
	}()
	fmt.Fprintln(os.Stderr, "bench: building and preparing …")
	rows, err := l.prepare(ctx)
	if err != nil {
		return err
	}
	figures, err := measure(ctx, rows)
	if err != nil {
		return err
	}
	print(figures)
	data, err := json.MarshalIndent(map[string]any{"quick": quick, "at": time.Now().UTC(), "figures": figures}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(out), append(data, '\n'), 0o644)
}

// measure runs the rows round by round: one figure of each, then the next round.
func measure(ctx context.Context, rows []row) ([]figure, error) {
	most := 0
	for _, r := range rows {
		most = max(most, r.rounds)
	}
	samples := make([][]float64, len(rows))
	for round := range most {
		for i, r := range rows {
			// Rows with few rounds are spread over the run.
			if round*r.rounds/most == (round-1)*r.rounds/most && round > 0 {
				continue
			}
			v, err := r.once(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", r.group, r.name, err)
			}
			samples[i] = append(samples[i], v)
		}
	}
	byName := map[string]float64{}
	var figures []figure
	for i, r := range rows {
		s := samples[i]
		slices.Sort(s)
		f := figure{
			Group: r.group, Name: r.name, Unit: r.unit, Rounds: len(s), Floor: r.floor,
			Median: s[len(s)/2], Low: s[len(s)/4], High: s[len(s)*3/4],
		}
		byName[r.name] = f.Median
		figures = append(figures, f)
	}
	for i := range figures {
		if base := byName[figures[i].Floor]; base > 0 {
			figures[i].Ratio = figures[i].Median / base
		}
	}
	return figures, nil
}

func print(figures []figure) {
	group := ""
	for _, f := range figures {
		if f.Group != group {
			group = f.Group
			fmt.Printf("\n%s\n", group)
		}
		line := fmt.Sprintf("  %-44s %10s  %-21s n=%-4d", f.Name, number(f.Median)+" "+f.Unit, number(f.Low)+" - "+number(f.High), f.Rounds)
		if f.Ratio > 0 {
			line += fmt.Sprintf("  %s x %s", number(f.Ratio), f.Floor)
		}
		fmt.Println(strings.TrimRight(line, " "))
	}
}

// number has three figures that count.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
