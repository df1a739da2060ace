// Command toolhost runs plugins and calls their tools.
//
// stdout carries results only; stderr is for people. The exit codes are in exit.go, and `toolhost help` lists the
// commands.
package main

import (
	"context"
	"io"
	"os"
	"slices"
)

func main() {
	ctx, stop := withSignals(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr *os.File) int {
	trusted := slices.Contains(args, "--unsafe-terminal")
	a := &app{stdin: stdin, out: newTerminal(stdout, trusted), err: newTerminal(stderr, trusted)}
	cmd := a.root()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		report(a.err, err, a.json || slices.Contains(args, "--json"))
	}
	return exitCode(err)
}
