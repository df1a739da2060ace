// Command demo shows toolhost's main job with real plugin processes: it lists tools, streams the arguments
// of a call, fetches a page, kills a plugin in the middle of a call and makes the next call work. "make
// demo" builds what it needs and runs it.
//
// Without -live the plugins talk to recorded upstreams on loopback, which demo starts and ends.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

func main() {
	bin := flag.String("bin", "bin", "where make build put the binaries")
	live := flag.Bool("live", false, "use the real services in place of recorded ones")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *live); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string, live bool) error {
	cfg := host.Config{Dirs: []string{filepath.Join(bin, "plugins")}}
	page := "https://example.com/"
	if live {
		fmt.Println("Using the REAL services.")
	} else {
		up, err := startUpstream(ctx, bin)
		if err != nil {
			return err
		}
		defer up.stop()
		fmt.Println(up.banner)
		page = up.page
		if cfg, err = up.config(); err != nil {
			return err
		}
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer h.Close()
	for _, step := range []struct {
		title string
		do    func(context.Context, *host.Host) error
	}{
		{"1. A directory of plugin binaries is a set of tools", list},
		{"2. The arguments of a weather call arrive in pieces", streamWeather},
		{"3. webfetch reads a page", func(ctx context.Context, h *host.Host) error { return fetch(ctx, h, page) }},
		{"4. The plugin is killed in the middle of a call", kill},
		{"5. The next call works, on a fresh process", again},
	} {
		fmt.Printf("\n== %s\n", step.title)
		if err := step.do(ctx, h); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	return nil
}

func list(_ context.Context, h *host.Host) error {
	n := 0
	for t := range h.Tools() {
		fmt.Printf("  %-10s of plugin %-10s %s\n", t.Name, t.Plugin, firstSentence(t.Description))
		n++
	}
	if n == 0 {
		return errors.New("no tools")
	}
	return nil
}

func streamWeather(ctx context.Context, h *host.Host) error {
	r := h.Start(ctx, host.Call{Tool: "weather", ID: "call-2"})
	go func() { // ends with the input
		for _, piece := range []string{`{"loca`, `tion": "Ber`, `lin", "days": 2`, `}`} {
			if r.Delta([]byte(piece)) != nil {
				return
			}
			pause(ctx, 100*time.Millisecond) // as a model writes
		}
		_ = r.EndInput()
	}()
	return show(r)
}

// show prints the events of a call, and returns its error.
func show(r *host.Running) error {
	for e := range r.Events() {
		line, err := host.MarshalEvent(e)
		if err != nil {
			return err
		}
		fmt.Printf("  %s\n", shorten(string(line), 400))
	}
	_, err := r.Result()
	return err
}

func fetch(ctx context.Context, h *host.Host, page string) error {
	input, err := json.Marshal(map[string]any{"url": page, "maxChars": 300})
	if err != nil {
		return err
	}
	res, err := h.Call(ctx, host.Call{Tool: "webfetch", Input: input})
	if err != nil {
		return err
	}
	var out struct{ Title, Content string }
	if err := json.Unmarshal(res.Output, &out); err != nil {
		return err
	}
	fmt.Printf("  %s -> %q\n", page, out.Title)
	for line := range strings.Lines(shorten(out.Content, 300)) {
		fmt.Printf("  | %s\n", strings.TrimRight(line, "\n"))
	}
	return nil
}

// kill ends the weather plugin's process while a call runs. The recorded upstream never answers for this
// place; a real one may, but not before the kill.
func kill(ctx context.Context, h *host.Host) error {
	r := h.Start(ctx, host.Call{Tool: "weather", ID: "call-4", Input: json.RawMessage(`{"location":"forecast-fault-slow"}`)})
	pid := 0
	for e := range r.Events() {
		line, err := host.MarshalEvent(e)
		if err != nil {
			return err
		}
		fmt.Printf("  %s\n", shorten(string(line), 600))
		if _, begun := e.(host.Progress); begun && pid == 0 {
			pid = pidOf(h, "weather")
			fmt.Printf("  kill -9 %d\n", pid)
			if err := killProcess(pid); err != nil {
				return err
			}
		}
	}
	_, err := r.Result()
	exit, ok := errors.AsType[*host.ExitError](err)
	if !ok || exit.Signal != "SIGKILL" {
		return fmt.Errorf("expected the death of process %d, got %w", pid, err)
	}
	fmt.Printf("  the caller is told: %v\n", err)
	return nil
}

func killProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func pidOf(h *host.Host, plugin string) int {
	for s := range h.Plugins() {
		if s.Name == plugin {
			return s.PID
		}
	}
	return 0
}

func again(ctx context.Context, h *host.Host) error {
	res, err := h.Call(ctx, host.Call{Tool: "weather", Input: json.RawMessage(`{"location":"Berlin"}`)})
	if err != nil {
		return err
	}
	fmt.Printf("  process %d answers: %s\n", pidOf(h, "weather"), shorten(string(res.Output), 200))
	return nil
}

// upstream is the recorded upstream server, a child process that ends with its standard input.
type upstream struct {
	banner, page, file string
	cmd                *exec.Cmd
	lifeline           io.Closer
	dir                string
}

func startUpstream(ctx context.Context, bin string) (*upstream, error) {
	dir, err := os.MkdirTemp("", "toolhost-demo")
	if err != nil {
		return nil, err
	}
	u := &upstream{file: filepath.Join(dir, "toolhost.yaml"), dir: dir}
	u.cmd = exec.CommandContext(ctx, filepath.Join(bin, "upstream"), "-lifeline", "-config", u.file, "-plugins", filepath.Join(bin, "plugins"))
	u.cmd.Stderr = os.Stderr
	if u.lifeline, err = u.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := u.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		u.stop()
		return nil, fmt.Errorf("upstream did not start: %w", err)
	}
	u.banner = strings.TrimSpace(line)
	root, ok := between(line, "at ", ";")
	if !ok {
		u.stop()
		return nil, fmt.Errorf("upstream said %q", line)
	}
	u.page = root + "/pages/article"
	return u, nil
}

func between(s, left, right string) (string, bool) {
	_, s, _ = strings.Cut(s, left)
	s, _, ok := strings.Cut(s, right)
	return s, ok
}

// config loads the configuration that the upstream wrote.
func (u *upstream) config() (host.Config, error) {
	f, err := config.Load(u.file)
	if err != nil {
		return host.Config{}, err
	}
	return f.Config(), nil
}

func (u *upstream) stop() {
	_ = u.lifeline.Close()
	_ = u.cmd.Wait()
	_ = os.RemoveAll(u.dir)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func firstSentence(s string) string {
	first, _, _ := strings.Cut(s, ". ")
	return shorten(first, 80)
}

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
