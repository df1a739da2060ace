package main

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
)

type Input struct {
	Text string `json:"text" jsonschema:"description=the text whose words are counted"`
}

type Output struct {
	Words int `json:"words"`
}

func main() {
	pluginsdk.Serve(pluginsdk.Tool[Input, Output]{
		ID:          "wordcount",
		Description: "Counts the words of a text.",
		Execute: func(ctx context.Context, call *pluginsdk.Call, in Input) (Output, error) {
			return Output{Words: len(strings.Fields(in.Text))}, nil
		},
	})
}
