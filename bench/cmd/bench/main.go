// Command bench measures what toolhost costs beside its peers and prints one table: every row of one run, interleaved,
// medians and ratios. It is run by make bench, which builds what it needs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == peer.CrowdArgument {
		if err := peer.ServeCrowd(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench: crowd:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.BoolVar(&o.quick, "quick", false, "fewer and shorter rounds: under two minutes")
	flag.StringVar(&o.bin, "bin", "../bin/bench", "where the built programs are")
	flag.StringVar(&o.node, "node", "node", "where the Node peers are installed")
	flag.StringVar(&o.out, "out", "out", "where the table and the plots go")
	only := flag.String("only", "", "only the groups whose name has one of these `words`, separated by commas")
	doc := flag.String("doc", "", "write this `document` about the run whose JSON is the argument, and measure nothing")
	judge := flag.Bool("judge", false, "say which gates held in the runs whose JSON are the arguments, and measure nothing")
	flag.Parse()
	var err error
	switch {
	case *judge:
		err = judgeRuns(flag.Args())
	case *doc != "":
		err = document(*doc, flag.Args())
	case flag.NArg() != 0:
		err = fmt.Errorf("unknown argument %q", flag.Arg(0))
	default:
		err = run(&o, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what every group gets.
type options struct {
	quick     bool
	bin       string
	node      string
	out       string
	state     string // a state directory of this run
	interrupt <-chan os.Signal
}

// pick is a number for a full run, or for a quick one.
func (o *options) pick(full, quick int) int {
	if o.quick {
		return quick
	}
	return full
}

// program is the path of a built program.
func (o *options) program(name string) string { return filepath.Join(o.bin, name) }

// group measures one part of the table.
type group struct {
	name    string
	measure func(*options) ([]report.Row, error)
}

var groups = []group{
	{"calls", calls},
	{"floor", floor},
	{"deltas", deltas},
	{"outputs", outputs},
	{"beside", beside},
	{"schema", schemas},
	{"start", starts},
	{"recover", recovery},
	{"list", list},
	{"memory", memory},
	{"scale", scale},
	{"process", wholeProcess},
	{"mcp", mcpCalls},
	{"function", inProcess},
	{"profile", profiles},
}

func run(o *options, only string) error {
	var err error
	for _, dir := range []*string{&o.bin, &o.node, &o.out} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	if o.state, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(o.state) }()
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	o.interrupt = interrupt
	r := report.Run{Time: time.Now(), Machine: report.Machine(), Versions: report.Versions(o.node), Quick: o.quick}
	r.Header(os.Stdout)
	for _, g := range groups {
		if !wanted(g.name, only) {
			continue
		}
		rows, err := g.measure(o)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		part := report.Run{Rows: rows}
		part.Print(os.Stdout)
		r.Rows = append(r.Rows, rows...)
		select {
		case <-interrupt:
			return fmt.Errorf("interrupted after %s", g.name)
		default:
		}
	}
	if err := save(o, &r); err != nil {
		return err
	}
	if n := r.Missed(); n > 0 {
		return fmt.Errorf("%d of %d rows do not meet their gate", n, len(r.Rows))
	}
	return nil
}

func wanted(name, only string) bool {
	if only == "" {
		return true
	}
	for word := range strings.SplitSeq(only, ",") {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// save writes the run as JSON and as Markdown, and its plots.
func save(o *options, r *report.Run) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "run.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	var table strings.Builder
	r.Markdown(&table)
	if err := os.WriteFile(filepath.Join(o.out, "run.md"), []byte(table.String()), 0o644); err != nil {
		return err
	}
	return r.Plots(o.out)
}
