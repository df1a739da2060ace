package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/pluginsdk"
)

// noisyPlugin writes to stdout and stderr wherever it can (R25).
func noisyPlugin() {
	fmt.Println("noise before serving {\"jsonrpc\":\"2.0\"}")
	fmt.Fprintln(os.Stderr, "noise on stderr")
	noise := func(what string) {
		for i := range 20 {
			fmt.Println("noise", what, i)
		}
		fmt.Fprintln(os.Stderr, "noise on stderr", what)
	}
	pluginsdk.Serve(
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "noise", Description: "Prints, and logs.",
			Execute: func(_ context.Context, call *pluginsdk.Call, _ struct{}) (json.RawMessage, error) {
				noise("in a call")
				call.Logger().Error("noise in the log")
				return []byte(`"quiet"`), nil
			},
		},
		pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: "panic", Description: "Prints, and panics.",
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) {
				noise("in a panic")
				panic("noise")
			},
		},
	)
}
