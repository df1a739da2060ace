// Embed opens a host on the plugin directories named on its command line, lists the tools, and
// calls one.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/toolhost/toolhost/host"
)

func main() {
	if err := listAndCall(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func listAndCall(ctx context.Context, dirs []string) error {
	h, err := host.Open(ctx, host.Config{Dirs: dirs})
	if err != nil {
		return err
	}
	defer h.Close()

	for tool := range h.Tools() {
		fmt.Printf("%s: %s\n", tool.Name, tool.Description)
	}
	res, err := h.Call(ctx, host.Call{Tool: "wordcount", Input: []byte(`{"text": "one two three"}`)})
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", res.Output)
	return nil
}
