// Command conformance runs the official MCP conformance suite against toolhost mcp with the conformance plugin, and
// against toolplugin-mcp as the client under test, in both requirement sets, and prints what came of each scenario. "make
// conformance" builds what it needs and runs it.
//
// Its exit status is 1 if a scenario did not pass that is not among the expected failures (tools/mcp/conformance-*.yml), or one
// of those passed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "where make conformance put the binaries")
	flag.StringVar(&o.tools, "tools", "tools/mcp", "where the suite is installed and the expected failures are")
	flag.StringVar(&o.out, "out", "bin/conformance/out", "where the suite writes what it saw")
	flag.StringVar(&o.url, "url", "", "test the server at this URL and start none")
	flag.BoolVar(&o.verbose, "v", false, "print what the suite prints")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	bin, tools, out, url string
	verbose              bool
}

// revisions are the requirement sets, and the file with what each is expected to fail.
var revisions = []struct{ revision, expected string }{
	{"2025-11-25", "conformance-2025.yml"},
	{"2026-07-28", "conformance-2026.yml"},
}

// sides are what can be tested. The arguments choose some of them.
var sides = []string{"server", "client"}

func run(ctx context.Context, o options, chosen []string) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("%s/%s: the Node that the suite runs on comes from a package for linux/amd64", runtime.GOOS, runtime.GOARCH)
	}
	for _, side := range chosen {
		if !slices.Contains(sides, side) {
			return fmt.Errorf("%q is not one of %v", side, sides)
		}
	}
	for _, dir := range []*string{&o.bin, &o.tools, &o.out} { // the suite and the server run elsewhere
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = abs
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	s := suite{options: o, home: filepath.Join(o.tools, "node_modules", "@modelcontextprotocol", "conformance")}
	bad := 0
	for _, side := range sides {
		if len(chosen) > 0 && !slices.Contains(chosen, side) {
			continue
		}
		n, err := s.side(ctx, side)
		if err != nil {
			return fmt.Errorf("%s: %w", side, err)
		}
		bad += n
	}
	if bad > 0 {
		return fmt.Errorf("%d scenarios are not as they should be; what the suite saw of each is in %s", bad, o.out)
	}
	return nil
}

// side runs both requirement sets of one side and prints a table for each. It returns how many scenarios are not as they should be.
func (s suite) side(ctx context.Context, side string) (bad int, err error) {
	target := []string{"--command", filepath.Join(s.bin, "conformance", "client") + " -importer " + filepath.Join(s.bin, "toolplugin-mcp")}
	if side == "server" {
		url := s.url
		if url == "" {
			srv, err := startServer(ctx, s.bin)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, srv.stop()) }()
			url = srv.url
		}
		target = []string{"--url", url}
	}
	for _, r := range revisions {
		began := time.Now()
		rows, err := s.run(ctx, side, r.revision, r.expected, target)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", r.revision, err)
		}
		bad += rows.bad()
		fmt.Printf("\n== %s, requirements of %s (%.0f s)\n\n%s", side, r.revision, time.Since(began).Seconds(), rows)
	}
	return bad, nil
}
