//go:build linux

// Clients drives real MCP clients against toolhost mcp, over stdio and over HTTP, and prints what each of them could do. It is run from
// the top of the repository after make build, with the clients installed in tools/mcp/clients:
//
//	go run ./internal/clients            the matrix; ends with 1 if anything failed that the client supports
//	go run ./internal/clients -only sdk2 only the clients whose name has the word
//	go run ./internal/clients -import    imports real servers, kills them in the middle of a call, and calls again
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	only := flag.String("only", "", "only the clients, or servers, whose name has this `word`")
	imports := flag.Bool("import", false, "import servers in place of serving clients")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	work := matrix
	if *imports {
		work = importAll
	}
	if err := work(ctx, os.Stdout, func(name string) bool { return strings.Contains(name, *only) }); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		stop()
		os.Exit(1)
	}
}
