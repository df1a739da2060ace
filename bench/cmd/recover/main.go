// Command recover measures how long a plugin is away after its process was killed: from kill -9 to the next good answer,
// against a plain launch of the same plugin to its first, interleaved, medians.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host"
)

func main() {
	n := flag.Int("n", 41, "measurements of each")
	weather := flag.String("weather", "../bin/plugins/toolplugin-weather", "the weather plugin's binary")
	gate := flag.Float64("gate", 1.5, "the largest ratio of the medians")
	flag.Parse()
	if err := run(context.Background(), *n, *weather, *gate); err != nil {
		fmt.Fprintln(os.Stderr, "recover:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, n int, weather string, gate float64) error {
	state, err := os.MkdirTemp("", "bench-recover-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	cfg := host.Config{StateDir: state, Plugins: []host.Plugin{{Path: weather}}}
	victim, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer victim.Close()
	var launches, recoveries []time.Duration
	failed := 0
	for i := range n + 2 { // two to warm up
		launch, err := launched(ctx, cfg)
		if err != nil {
			return fmt.Errorf("launch: %w", err)
		}
		recovery, lost, err := recovered(ctx, victim)
		if err != nil {
			return fmt.Errorf("recovery: %w", err)
		}
		if i >= 2 {
			launches, recoveries, failed = append(launches, launch), append(recoveries, recovery), failed+lost
		}
	}
	ratio := float64(median(recoveries)) / float64(median(launches))
	fmt.Printf("Kill to next good answer, median of %d, interleaved with plain launches (%s, %d cores)\n\n", n, runtime.Version(), runtime.NumCPU())
	fmt.Printf("| variant | median | p90 | ratio |\n|---|--:|--:|--:|\n")
	fmt.Printf("| launch to the first answer | %.1f ms | %.1f ms | 1.00 |\n", ms(median(launches)), ms(quantile(launches, 0.9)))
	fmt.Printf("| kill -9 to the next good answer | %.1f ms | %.1f ms | %.2f |\n", ms(median(recoveries)), ms(quantile(recoveries, 0.9)), ratio)
	fmt.Printf("\n%d calls met the dying process and were failed rather than repeated (C3)\n", failed)
	met := "met"
	if ratio > gate {
		met = "NOT MET"
	}
	fmt.Printf("Gate: at most %.1f times a plain launch: %s\n", gate, met)
	if ratio > gate {
		return fmt.Errorf("the ratio is %.2f", ratio)
	}
	return nil
}

// launched is the time from an open host without a process to its first answer. The state directory is warm, as it is
// for a process that is started again.
func launched(ctx context.Context, cfg host.Config) (time.Duration, error) {
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	begun := time.Now()
	err = ask(ctx, h)
	return time.Since(begun), err
}

// recovered kills the plugin's process and calls until an answer is good. lost counts the calls that failed meanwhile:
// those that were sent to a process that was dead already.
func recovered(ctx context.Context, h *host.Host) (took time.Duration, lost int, err error) {
	if err := ask(ctx, h); err != nil {
		return 0, 0, err
	}
	pid := 0
	for p := range h.Plugins() {
		pid = p.PID
	}
	begun := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return 0, 0, err
	}
	for {
		err := ask(ctx, h)
		if err == nil {
			break
		}
		if code, _ := host.CodeOf(err); code != host.Unavailable {
			return 0, lost, err
		}
		lost++
	}
	took = time.Since(begun)
	for p := range h.Plugins() {
		if p.PID == pid {
			return 0, lost, errors.New("the killed process answered")
		}
	}
	return took, lost, nil
}

// ask makes a call that the weather plugin answers without an upstream: it refuses a latitude of 91.
func ask(ctx context.Context, h *host.Host) error {
	_, err := h.Call(ctx, host.Call{Tool: "weather", Input: []byte(`{"location":"91,0"}`)})
	if code, ok := host.CodeOf(err); ok && code == host.ToolFailed {
		return nil
	}
	if err == nil {
		err = errors.New("a latitude of 91 was not refused")
	}
	return err
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[int(q*float64(len(s)-1)+0.5)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
