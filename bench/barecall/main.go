// Command barecall starts the bare plugin at a path, calls it once with an input, prints the answer and ends the plugin:
// barecall PATH INPUT. It is what toolhost call is compared with.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/bench/bare"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "barecall:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: barecall PATH INPUT")
	}
	p, err := bare.Start(os.Args[1])
	if err != nil {
		return err
	}
	defer p.Close()
	out, err := p.Call(context.Background(), []byte(os.Args[2]))
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", out)
	return err
}
