// Command toolhost runs plugins and calls their tools.
//
// stdout carries results only; stderr is for people. The exit codes are in exit.go, and `toolhost help` lists
// the commands.
package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/toolhost/toolhost/internal/confine"
)

func main() {
	if asHelper() {
		os.Exit(confine.Main(os.Args))
	}
	ctx, stop := withSignals(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr *os.File) int {
	trusted := given(args, "--unsafe-terminal")
	a := &app{stdin: stdin, out: newTerminal(stdout, trusted), err: newTerminal(stderr, trusted)}
	cmd := a.root()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		report(a.err, err, a.json || given(args, "--json"))
	}
	return exitCode(err)
}

// given reports whether a flag is among args. It serves what must be known before, or although, args cannot
// be parsed.
func given(args []string, flag string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, flag)
}
