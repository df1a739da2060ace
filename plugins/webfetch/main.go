// The webfetch plugin serves the tool webfetch: it gets a page from the public internet, and only from there,
// and returns its readable text.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/plugins/webfetch/internal/fetch"
	"github.com/toolhost/toolhost/pluginsdk"
)

func main() { pluginsdk.ServeFunc(build) }

// build declares the tool around a fetcher with the operator's settings.
func build(_ context.Context, r *pluginsdk.Registry) error {
	var s fetch.Settings
	if err := r.Settings(&s); err != nil {
		return err
	}
	f, err := s.Fetcher()
	if err != nil {
		return err
	}
	return r.Set(webfetch(f))
}

func webfetch(f *fetch.Fetcher) pluginsdk.Definition {
	yes, no := true, false
	w := watcher{f}
	return pluginsdk.Tool[fetch.Input, fetch.Output]{
		ID:    "webfetch",
		Title: "Fetch a web page",
		Description: "Fetches a public http or https URL and returns its readable text, as markdown by default. Long pages come in parts: " +
			"call again with offset set to nextOffset. A status other than 2xx is no failure; see ok and status.",
		Execute: func(ctx context.Context, call *pluginsdk.Call, in fetch.Input) (fetch.Output, error) {
			out, err := f.Fetch(ctx, in, func(read, total int64) {
				call.Progress(float64(read), float64(total), fmt.Sprintf("%d bytes read", read))
			})
			if err != nil {
				return fetch.Output{}, forModel(err)
			}
			return *out, nil
		},
		InputExamples:    []fetch.Input{{URL: "https://example.com/"}, {URL: "https://example.com/long", Format: "text", Offset: 20000}},
		MCP:              pluginsdk.MCP{Annotations: &pluginsdk.Annotations{ReadOnly: &yes, Destructive: &no, Idempotent: &yes, OpenWorld: &yes}},
		Timeout:          f.Timeout() + time.Second, // the fetch's own limit comes first: its message says what it waited for
		MaxConcurrency:   16,                        // bodies are held whole: 16 of 8 MiB and what is made of them
		Idempotent:       true,
		ToModelOutput:    modelOutput,
		OnInputStart:     w.start,
		OnInputDelta:     w.delta,
		OnInputAvailable: w.available,
	}
}
