package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/report"
)

// list compares toolhost list of 100 plugins, whose manifests are known, with toolhost version, and holds that it starts no
// process.
func list(o *options) ([]report.Row, error) {
	const plugins = 100
	dir, err := os.MkdirTemp(o.state, "list")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // they are large
	bin := filepath.Join(dir, "plugins")
	if err := markPlugins(o, bin, plugins); err != nil {
		return nil, err
	}
	listed := func() (time.Duration, error) {
		return o.toolhost(plugins+1, "--plugins", bin, "--state", filepath.Join(dir, "state"), "list")
	}
	cold, err := listed()
	if err != nil {
		return nil, err
	}
	began := markedStarts(bin)
	if began < plugins {
		return nil, fmt.Errorf("the cold list started %d processes of %d plugins: that the warm one starts none would show nothing", began, plugins)
	}
	took, err := measure.InTurn(o.pick(41, 15), func() (time.Duration, error) { return o.toolhost(1, "version") }, listed)
	if err != nil {
		return nil, err
	}
	if n := markedStarts(bin) - began; n != 0 {
		return nil, fmt.Errorf("the warm list started %d processes", n)
	}
	const group = "toolhost list, 100 plugins"
	version := ms(measure.Median(took[0]))
	return []report.Row{
		{Group: group, Name: "warm: every manifest is known", Value: ms(measure.Median(took[1])), Unit: "ms", Than: "toolhost version", Other: version, Target: report.AtMost(2, 0)},
		{Group: group, Name: "cold: every plugin is asked, once", Value: ms(cold), Unit: "ms", Than: "toolhost version", Other: version},
	}, nil
}

// toolhost runs the command and holds that it prints so many lines, and nothing on stderr.
func (o *options) toolhost(lines int, args ...string) (time.Duration, error) {
	cmd := exec.Command(filepath.Join(o.bin, "..", "toolhost"), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	begun := time.Now()
	err := cmd.Run()
	took := time.Since(begun)
	if err != nil || errs.Len() > 0 {
		return 0, fmt.Errorf("%v: %w: %s", cmd, err, errs.Bytes())
	}
	if got := bytes.Count(out.Bytes(), []byte("\n")); got != lines {
		return 0, fmt.Errorf("%v: %d lines instead of %d", cmd, got, lines)
	}
	return took, nil
}

// markPlugins makes a directory with n plugins that tell when they start, each of different bytes.
func markPlugins(o *options, dir string, n int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for i := range n {
		if err := copyPlugin(fmt.Sprintf("%s/toolplugin-mark%03d-1", dir, i), o.program("markplugin")); err != nil {
			return err
		}
	}
	return nil
}

// copyPlugin copies the binary and appends its name, which the loader does not mind: the same bytes would be the same program.
func copyPlugin(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		_, err = fmt.Fprintf(dst, "\n%s\n", to)
	}
	return errors.Join(err, dst.Close())
}

// markedStarts is how many processes of the plugins in dir ever ran.
func markedStarts(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, "started")) // none if none did
	return strings.Count(string(text), "\n")
}
