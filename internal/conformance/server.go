package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// server is toolhost mcp with the conformance plugin, a child process.
type server struct {
	url  string
	cmd  *exec.Cmd
	dir  string // its state; removed by stop
	read sync.WaitGroup
}

// startServer returns when the server says where it listens.
func startServer(ctx context.Context, bin string) (*server, error) {
	dir, err := os.MkdirTemp("", "conformance-server-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	config := filepath.Join(dir, "toolhost.yaml") // in place of the user's own
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.cmd = exec.CommandContext(ctx, filepath.Join(bin, "toolhost"), "--plugins", filepath.Join(bin, "conformance", "plugins"),
		"--config", config, "--state", dir, "mcp", "--http", "127.0.0.1:0")
	s.cmd.Dir = dir
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = 10 * time.Second
	pipe, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	url := make(chan string, 1)
	s.read.Go(func() { findURL(pipe, os.Stderr, url) }) // ends with the process
	select {
	case s.url = <-url:
	case <-time.After(30 * time.Second):
	}
	if s.url == "" {
		return nil, errors.Join(errors.New("toolhost mcp does not say where it listens"), s.stop())
	}
	return s, nil
}

// stop ends the server.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended
	s.read.Wait()
	err := s.cmd.Wait()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("toolhost mcp: %w", e)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// listening is how an address looks in what the server prints.
var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S*[^\s.,;]`)

// findURL copies what r has, by lines, and sends the first URL in it, or "" if r ends before.
func findURL(r io.Reader, w io.Writer, url chan<- string) {
	found := false
	for lines := bufio.NewScanner(r); lines.Scan(); {
		fmt.Fprintln(w, "toolhost:", lines.Text())
		if at := listening.FindString(lines.Text()); at != "" && !found {
			found = true
			url <- at
		}
	}
	if !found {
		url <- ""
	}
}
