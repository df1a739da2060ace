// Command markplugin is a plugin that tells that it ran: every process of it adds a line to the file "started" beside
// its binary. It has as many tools as its name says at the end, toolplugin-NAME-TOOLS, and they are named after it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
)

// Input is what a tool takes.
type Input struct {
	N int `json:"n"`
}

// Output is the same number.
type Output struct {
	N int `json:"n"`
}

func main() {
	dir, file := filepath.Split(os.Args[0])
	f, err := os.OpenFile(dir+"started", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, file, os.Getpid())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "markplugin:", err)
		os.Exit(1)
	}
	name := strings.TrimPrefix(file, "toolplugin-")
	n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	var tools []pluginsdk.Definition
	for i := range max(1, n) {
		tools = append(tools, pluginsdk.Tool[Input, Output]{
			ID: fmt.Sprintf("%s-%d", name, i), Description: "Answers its input.",
			Execute: func(_ context.Context, _ *pluginsdk.Call, in Input) (Output, error) { return Output(in), nil },
		})
	}
	pluginsdk.Serve(tools...)
}
