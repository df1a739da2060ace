//go:build linux

// Command soak shows that plugins hurt nobody for as long as one cares to watch: a mixed load over 20 plugins of which
// half are killed, stopped, replaced, broken and filled, and the long forms of what the tests show in short. It prints
// one verdict a phase and exits with status 1 if a limit was broken. Its phases are
//
//	mixed        the load, without and with chaos; -time each
//	swap         a binary replaced 20 times under 8 callers
//	hostkill     50 hosts are killed; nothing of their plugins is left
//	pid1         the same with each host as process 1 of a pid namespace
//	crash        1,000 crash cycles of one plugin
//	descriptors  50 plugins; the descriptors stay as many, for -flat
//	author       500 cycles of the author's harness
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == victimArg {
		if err := victimHost(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "soak: host:", err)
			os.Exit(1)
		}
		return
	}
	s := &soak{out: os.Stdout}
	length := flag.String("time", "5m", "`TIME` of the mixed load without and again with chaos; full: 5m, and the descriptors 10m")
	flag.DurationVar(&s.flat, "flat", 30*time.Second, "`TIME` of the phase descriptors")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "`NUMBER` that decides the load and the chaos")
	flag.StringVar(&s.base, "plugin", "bin/soak/toolplugin-soak", "the plugin's `BINARY`")
	flag.Float64Var(&s.ratio, "ratio", ratioLimit, "largest `RATIO` of p99 with chaos over without; 0: not held")
	flag.Float64Var(&s.rate, "rate", 0, "calls a second of the mixed load; 0: 30% of the capacity that is measured first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.configure(*length, flag.Args()); err == nil {
		err = s.run(ctx)
		if err == nil {
			return
		}
		fmt.Fprintln(os.Stderr, "soak:", err)
	} else {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(2)
	}
	stop()
	os.Exit(1)
}

// soak is one run of the command.
type soak struct {
	out   io.Writer
	base  string
	seed  uint64
	ratio float64
	rate  float64
	each  time.Duration // of the mixed load's two phases
	flat  time.Duration
	only  []string // phases; none: all
}

// phase is one of the things that are shown.
type phase struct {
	name  string
	about time.Duration // how long it takes, roughly
	run   func(ctx context.Context, dir string, r *report) error
}

func (s *soak) configure(length string, only []string) error {
	if length == "full" {
		length, s.flat = "5m", 10*time.Minute
	}
	var err error
	if s.each, err = time.ParseDuration(length); err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(s.phases(), func(p phase) bool { return p.name == name }) {
			return fmt.Errorf("no phase %s", name)
		}
	}
	s.only = only
	if s.base, err = filepath.Abs(s.base); err != nil {
		return err
	}
	_, err = os.Stat(s.base)
	return err
}

func (s *soak) phases() []phase {
	return []phase{
		{"mixed", 2*s.each + 30*time.Second, func(ctx context.Context, dir string, r *report) error {
			m := &mixed{seed: s.seed, base: s.base, dir: dir, plugins: 20, victims: 10, capacity: 8 * time.Second, each: s.each, every: time.Second, share: share, ratio: s.ratio, rate: s.rate}
			return m.run(ctx, r)
		}},
		{"swap", 30 * time.Second, func(ctx context.Context, dir string, r *report) error { return swaps(ctx, s.base, dir, 20, r) }},
		{"hostkill", 45 * time.Second, func(ctx context.Context, dir string, r *report) error {
			return hostKills(ctx, s.base, dir, 50, false, r)
		}},
		{"pid1", 45 * time.Second, func(ctx context.Context, dir string, r *report) error {
			return hostKills(ctx, s.base, dir, 50, true, r)
		}},
		{"crash", time.Minute, func(ctx context.Context, dir string, r *report) error { return crashes(ctx, s.base, dir, 1000, r) }},
		{"descriptors", s.flat + 10*time.Second, func(ctx context.Context, dir string, r *report) error {
			return descriptorsFlat(ctx, s.base, dir, 50, s.flat, r)
		}},
		{"author", 30 * time.Second, func(ctx context.Context, dir string, r *report) error { return authors(ctx, s.base, dir, 500, r) }},
	}
}

// run runs the phases one after the other and prints a verdict for each.
func (s *soak) run(ctx context.Context) error {
	var todo []phase
	total := time.Duration(0)
	for _, p := range s.phases() {
		if len(s.only) == 0 || slices.Contains(s.only, p.name) {
			todo, total = append(todo, p), total+p.about
		}
	}
	busy, _ := os.ReadFile("/proc/loadavg") // what it is worth knowing of a latency
	fmt.Fprintf(s.out, "soak: seed %d, about %v; %d cores, load before %.14s\n", s.seed, total.Round(time.Second), runtime.NumCPU(), busy)
	begun := time.Now()
	defer overdue(2*total + 2*time.Minute).Stop()
	var bad []string
	for _, p := range todo {
		ok, err := s.phase(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if !ok {
			bad = append(bad, p.name)
		}
	}
	fmt.Fprintf(s.out, "soak: seed %d, took %v\n", s.seed, time.Since(begun).Round(time.Second))
	if len(bad) > 0 {
		return fmt.Errorf("limits were broken in: %s", strings.Join(bad, ", "))
	}
	return nil
}

// overdue ends the program when so much time has passed, with what every goroutine waits for: a soak that hangs has
// found something.
func overdue(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() {
		fmt.Fprintf(os.Stderr, "soak: not done after %v; its goroutines:\n", limit)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) // nothing can be done about its loss
		os.Exit(1)
	})
}

// phase runs one phase in a directory of its own.
func (s *soak) phase(ctx context.Context, p phase) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "soak-"+p.name+"-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintf(s.out, "== %s, about %v\n", p.name, p.about.Round(time.Second))
	begun := time.Now()
	r := &report{out: s.out}
	if err := p.run(ctx, dir, r); err != nil {
		return false, err
	}
	verdict := "PASS"
	if len(r.broken) > 0 {
		verdict = "FAIL"
	}
	fmt.Fprintf(s.out, "%s %s, %v\n", verdict, p.name, time.Since(begun).Round(100*time.Millisecond))
	for _, b := range r.broken {
		fmt.Fprintf(s.out, "  limit: %s\n", b)
	}
	return len(r.broken) == 0, nil
}
