// Agent lets a scripted model use the tools of the plugin directories named on its command line: it offers
// them, streams the arguments of a call while the model writes them, and asks a person before wordcount
// runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"slices"

	"github.com/toolhost/toolhost/host"
)

func main() {
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{
		Dirs:   os.Args[1:],
		Policy: host.Policy{Rules: []host.Rule{{Action: host.Ask, Tool: "wordcount"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for tool := range h.Tools() { // what the model is offered
		fmt.Printf("offer %s: %s %s\n", tool.Name, tool.Description, tool.InputSchema)
	}
	model := slices.Values([]string{`{"te`, `xt": "one two`, ` three"}`})
	yes := func(s host.Suspension) bool { fmt.Printf("approve %s %s\n", s.Tool, s.Display); return true }
	fmt.Printf("the model reads %s\n", use(ctx, h, "wordcount", model, yes).Text())
}

// use makes one call that a model writes piece by piece, and returns what the model is to read of it.
func use(ctx context.Context, h *host.Host, tool string, deltas iter.Seq[string], approve func(host.Suspension) bool) host.ModelOutput {
	call := h.Start(ctx, host.Call{Tool: tool})
	go func() { // ends with the input, or with the call
		for piece := range deltas {
			if call.Delta([]byte(piece)) != nil {
				return
			}
		}
		call.EndInput()
	}()
	for {
		for e := range call.Events() { // ends with the one terminal event
			if d, ok := e.(host.InputDelta); ok {
				fmt.Printf("writes %s\n", d.Text)
			}
		}
		res, err := call.Result()
		if err == nil {
			return res.Model
		}
		waits, suspended := errors.AsType[*host.SuspendedError](err)
		switch {
		case !suspended:
			failed, _ := errors.AsType[*host.Error](err) // every error of a call is one
			return failed.Model()
		case approve(waits.Suspension):
			call = h.Start(ctx, waits.Suspension.Approve())
		default:
			call = h.Start(ctx, waits.Suspension.Deny("the person said no"))
		}
	}
}
