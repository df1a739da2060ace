// Package host runs the tools of AI agents out of process: it finds plugin binaries, starts them, learns
// their tools, and owns everything around a call.
//
//	discover -> launch -> describe -> registry -> call -> present
//	                                               |
//	  parse -> validate -> execute -> validate -> result
//
// A plugin runs the author's code and nothing else. Everything on the lower line but execute happens here,
// once, on every path. A plugin may panic, hang, leak, lie or be killed: the host, its other plugins and
// other calls go on, and the caller learns what happened to its call: every error is an [*Error] with a
// [Code] and an [Outcome].
//
//	h, err := host.Open(ctx, host.Config{Dirs: []string{"bin/plugins"}})
//	...
//	defer h.Close()
//	res, err := h.Call(ctx, host.Call{Tool: "weather", Input: json.RawMessage(`{"location":"Berlin"}`)})
//
// One file is one noun: [Config] and [Host] are in host.go, a plugin's supervisor in plugin.go, one process
// in process.go, the snapshot of what can be called in registry.go, the pipeline in call.go, one call on
// one process in attempt.go.
package host
