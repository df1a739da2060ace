// Command start measures start to first answer: toolhost's weather plugin through host.Open and host.Call, against a bare
// go-plugin gRPC plugin, interleaved, medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/host"
)

func main() {
	n := flag.Int("n", 41, "starts of each")
	weather := flag.String("weather", "../bin/plugins/toolplugin-weather", "the weather plugin's binary")
	bareBin := flag.String("bare", "../bin/bench/bareplugin", "the bare plugin's binary")
	gate := flag.Float64("gate", 2, "the largest ratio of the medians, sandbox none")
	flag.Parse()
	if err := run(context.Background(), *n, *weather, *bareBin, *gate); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

// variant is one way to start a plugin and get its first answer. What stops it is not timed.
type variant struct {
	name  string
	start func(context.Context) (stop func(), err error)
	took  []time.Duration
}

func run(ctx context.Context, n int, weather, bareBin string, gate float64) error {
	variants := []*variant{
		{name: "bare go-plugin gRPC", start: func(ctx context.Context) (func(), error) { return startBare(ctx, bareBin) }},
		{name: "toolhost, sandbox none", start: func(ctx context.Context) (func(), error) { return startTool(ctx, weather, host.ProfileNone) }},
		{name: "toolhost, sandbox default", start: func(ctx context.Context) (func(), error) { return startTool(ctx, weather, host.ProfileDefault) }},
		{name: "toolhost, sandbox strict", start: func(ctx context.Context) (func(), error) { return startTool(ctx, weather, host.ProfileStrict) }},
	}
	for i := range n + 2 { // two to warm up
		for _, v := range variants {
			began := time.Now()
			stop, err := v.start(ctx)
			took := time.Since(began)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			stop()
			if i >= 2 {
				v.took = append(v.took, took)
			}
		}
	}
	fmt.Printf("Start to first answer, median of %d interleaved starts (%s, %d cores)\n\n", n, runtime.Version(), runtime.NumCPU())
	fmt.Printf("| variant | median | p90 | ratio |\n|---|--:|--:|--:|\n")
	yard := median(variants[0].took)
	for _, v := range variants {
		fmt.Printf("| %s | %.1f ms | %.1f ms | %.2f |\n", v.name, ms(median(v.took)), ms(quantile(v.took, 0.9)), ratio(median(v.took), yard))
	}
	got := ratio(median(variants[1].took), yard)
	fmt.Printf("\nGate: sandbox none at most %.1f times bare: %s\n", gate, verdict(got <= gate))
	if got > gate {
		return fmt.Errorf("the ratio is %.2f", got)
	}
	return nil
}

func startBare(ctx context.Context, bin string) (func(), error) {
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  bare.Handshake,
		Plugins:          plugin.PluginSet{bare.Name: &bare.Plugin{}},
		Cmd:              exec.CommandContext(ctx, bin),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	rpc, err := c.Client()
	if err != nil {
		c.Kill()
		return nil, err
	}
	raw, err := rpc.Dispense(bare.Name)
	if err == nil {
		_, err = raw.(*bare.Client).Call(ctx, []byte(`{"location":"91,0"}`))
	}
	return c.Kill, err
}

// startTool opens a host and makes a call that the weather plugin answers without an upstream: it refuses a latitude of 91.
func startTool(ctx context.Context, bin string, profile host.Profile) (func(), error) {
	helper, err := filepath.Abs(filepath.Join(filepath.Dir(bin), "..", "toolhost-sandbox")) // as make build lays them
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, host.Config{SandboxHelper: helper, Plugins: []host.Plugin{{Path: bin, Sandbox: host.Sandbox{Profile: profile}}}})
	if err != nil {
		return nil, err
	}
	stop := func() { h.Close() }
	_, err = h.Call(ctx, host.Call{Tool: "weather", Input: []byte(`{"location":"91,0"}`)})
	if code, ok := host.CodeOf(err); !ok || code != host.ToolFailed {
		stop()
		return nil, fmt.Errorf("expected the tool's own refusal, got: %w", err)
	}
	return stop, nil
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[int(q*float64(len(s)-1)+0.5)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "NOT MET"
}
