// Command list measures what a directory of plugins costs: toolhost list with 100 of them and a warm cache against
// toolhost version, by turns, medians. It shows that the warm list starts no process, and that 1,000 tools in one host
// can be called.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
)

func main() {
	n := flag.Int("n", 41, "measurements of each")
	plugins := flag.Int("plugins", 100, "plugin binaries in the directory")
	tools := flag.Int("tools", 1000, "tools in one host")
	toolhost := flag.String("toolhost", "../bin/toolhost", "the command's binary")
	mark := flag.String("plugin", "../bin/bench/markplugin", "the plugin's binary")
	gate := flag.Float64("gate", 2, "the largest ratio of the medians")
	flag.Parse()
	b := &bench{n: *n, toolhost: *toolhost, mark: *mark, gate: *gate}
	if err := b.run(context.Background(), *plugins, *tools); err != nil {
		fmt.Fprintln(os.Stderr, "list:", err)
		os.Exit(1)
	}
}

type bench struct {
	n              int
	toolhost, mark string
	gate           float64
	dir            string
}

func (b *bench) run(ctx context.Context, plugins, tools int) (err error) {
	if b.dir, err = os.MkdirTemp("", "bench-list-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	bin, err := b.directory("small", plugins, 1)
	if err != nil {
		return err
	}
	wide, err := b.directory("wide", 10, tools/10)
	if err != nil {
		return err
	}
	return errors.Join(b.list(bin, plugins), b.callAll(ctx, wide, tools))
}

// list measures the listing of a directory of plugins.
func (b *bench) list(bin string, plugins int) error {
	cold, _, err := b.time(plugins, "--plugins", bin, "--state", b.dir+"/state", "list")
	if err != nil {
		return fmt.Errorf("cold: %w", err)
	}
	started := b.started(bin)
	if started < plugins {
		return fmt.Errorf("the cold list started %d processes of %d plugins: what is to show that the warm one starts none shows nothing", started, plugins)
	}
	var version, list, versionCPU, listCPU []time.Duration
	for i := range b.n + 2 { // two to warm up
		v, vCPU, err := b.time(0, "version")
		if err != nil {
			return fmt.Errorf("version: %w", err)
		}
		l, lCPU, err := b.time(plugins, "--plugins", bin, "--state", b.dir+"/state", "list")
		if err != nil {
			return fmt.Errorf("warm: %w", err)
		}
		if i >= 2 {
			version, list = append(version, v), append(list, l)
			versionCPU, listCPU = append(versionCPU, vCPU), append(listCPU, lCPU)
		}
	}
	warm := b.started(bin) - started
	ratio := float64(median(list)) / float64(median(version))
	fmt.Printf("toolhost list, %d plugin binaries, median of %d, by turns (%s, %d cores)\n\n", plugins, b.n, runtime.Version(), runtime.NumCPU())
	fmt.Printf("| command | median | p90 | ratio | CPU, median | processes started |\n|---|--:|--:|--:|--:|--:|\n")
	fmt.Printf("| toolhost version | %.1f ms | %.1f ms | 1.00 | %.1f ms | |\n", ms(median(version)), ms(quantile(version, 0.9)), ms(median(versionCPU)))
	fmt.Printf("| toolhost list, warm | %.1f ms | %.1f ms | %.2f | %.1f ms | %d |\n", ms(median(list)), ms(quantile(list, 0.9)), ratio, ms(median(listCPU)), warm)
	fmt.Printf("| toolhost list, cold, once | %.1f ms | | | | %d |\n\n", ms(cold), started)
	fmt.Printf("Gate: warm at most %.1f times version: %s; starts no process: %s\n", b.gate, verdict(ratio <= b.gate), verdict(warm == 0))
	if ratio > b.gate || warm != 0 {
		return fmt.Errorf("the ratio is %.2f, and %d processes were started", ratio, warm)
	}
	return nil
}

// time runs the command once and holds that it prints a line for every tool, and its head.
func (b *bench) time(tools int, args ...string) (took, cpu time.Duration, err error) {
	cmd := exec.Command(b.toolhost, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	begun := time.Now()
	err = cmd.Run()
	took = time.Since(begun)
	if err != nil || errs.Len() > 0 {
		return 0, 0, fmt.Errorf("%v: %w: %s", cmd, err, errs.Bytes())
	}
	if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != tools+1 {
		return 0, 0, fmt.Errorf("%v: %d lines instead of %d", cmd, lines, tools+1)
	}
	return took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// callAll opens one host on the directory and calls each of its tools once.
func (b *bench) callAll(ctx context.Context, bin string, tools int) error {
	h, err := host.Open(ctx, host.Config{Dirs: []string{bin}, StateDir: b.dir + "/state", Limits: host.Limits{Start: time.Minute, Describe: time.Minute}})
	if err != nil {
		return err
	}
	defer h.Close()
	begun := time.Now()
	all := slices.Collect(h.Tools())
	listed := time.Since(begun)
	if len(all) != tools {
		return fmt.Errorf("%d tools are listed instead of %d", len(all), tools)
	}
	begun = time.Now()
	for i, t := range all {
		input := fmt.Appendf(nil, `{"n":%d}`, i)
		res, err := h.Call(ctx, host.Call{Tool: t.Name, Input: input})
		if err != nil {
			return err
		}
		if string(res.Output) != string(input) {
			return fmt.Errorf("%s answered %s", t.Name, res.Output)
		}
	}
	took := time.Since(begun)
	begun = time.Now()
	for i := range all {
		if _, err := h.Call(ctx, host.Call{Tool: all[len(all)-1-i].Name, Input: []byte(`{"n":1}`)}); err != nil {
			return err
		}
	}
	fmt.Printf("\n%d tools in one host: listed in %.0f ms, each called once in %.0f ms, and again in %.0f ms (%.0f µs a call)\n", tools, ms(listed), ms(took),
		ms(time.Since(begun)), float64(time.Since(begun).Microseconds())/float64(tools))
	return nil
}

// directory makes one with n plugins of so many tools each, all of different bytes.
func (b *bench) directory(name string, n, tools int) (string, error) {
	bin := filepath.Join(b.dir, name)
	if err := os.Mkdir(bin, 0o700); err != nil {
		return "", err
	}
	for i := range n {
		if err := copyPlugin(fmt.Sprintf("%s/toolplugin-%s%03d-%d", bin, name, i, tools), b.mark); err != nil {
			return "", err
		}
	}
	return bin, nil
}

// copyPlugin copies the binary and appends its name, which the loader does not mind.
func copyPlugin(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		_, err = fmt.Fprintf(dst, "\n%s\n", to) // the same bytes would be the same program
	}
	return errors.Join(err, dst.Close())
}

// started is how many processes of the plugins in bin ever ran.
func (b *bench) started(bin string) int {
	text, _ := os.ReadFile(filepath.Join(bin, "started")) // none if none did
	return strings.Count(string(text), "\n")
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[int(q*float64(len(s)-1)+0.5)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "NOT MET"
}
