// Command client is the client that the official MCP conformance suite tests: a host whose one plugin is toolplugin-mcp,
// which imports the server at the URL that is its last argument. It lists the server's tools and calls each of them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
)

func main() {
	importer := flag.String("importer", "bin/toolplugin-mcp", "the plugin that imports a server")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second) // make conformance has the suite wait for 60
	defer cancel()
	if err := run(ctx, *importer, flag.Arg(flag.NArg()-1)); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		cancel()
		os.Exit(1)
	}
}

// patience is how long a server may take to list its tools: the suite starts dozens of servers and clients at the same time.
const patience = 30 * time.Second

func run(ctx context.Context, importer, url string) error {
	if url == "" {
		return errors.New("no URL: give that of the server as the last argument")
	}
	state, err := os.MkdirTemp("", "conformance-client-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	settings, err := json.Marshal(map[string]string{"url": url, "timeout": patience.String()})
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Config{
		Plugins:  []host.Plugin{{Name: "remote", Path: importer, Settings: settings}},
		StateDir: state,
		Eager:    true,
		Limits:   host.Limits{Start: patience, Describe: patience},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer h.Close()
	calls, err := plan(slices.Collect(h.Tools()), os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT"))
	if err != nil {
		return err
	}
	return callAll(ctx, h, calls)
}

// callAll makes the calls, all at the same time, and prints what came of each. Tools fail as they like: only what is a
// fault of this side is an error.
func callAll(ctx context.Context, h *host.Host, calls []host.Call) error {
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() { // ends with its call
			c.Elicit = elicit
			res, err := h.Call(ctx, c)
			if err != nil {
				fmt.Printf("%s: %v\n", c.Tool, err)
				if code, _ := host.CodeOf(err); code != host.ToolFailed {
					errs[i] = err
				}
				return
			}
			fmt.Printf("%s: %s\n", c.Tool, res.Output)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
