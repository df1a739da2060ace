// Command toolplugin-issues is a plugin whose one tool uses most of what the SDK has: a typed input with constraints, an approval
// that depends on the input, a question that may take days to answer, the input while it is written, a form for the model, and a
// failure that the model can act on.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk"
)

type Input struct {
	Title    string   `json:"title" jsonschema:"minLength=1,maxLength=80" jsonschema_description:"What is wrong, in a few words"`
	Severity string   `json:"severity,omitempty" jsonschema:"enum=low,enum=high,default=low"`
	Labels   []string `json:"labels,omitempty" jsonschema:"maxItems=5"`
	Token    string   `json:"token,omitempty" jsonschema:"writeOnly=true"` // people see ***
}

type Output struct {
	Number   int    `json:"number"`
	Assignee string `json:"assignee"`
}

type question struct {
	Ask string `json:"ask"`
}

type answer struct {
	Assignee string `json:"assignee"`
}

var create = pluginsdk.Tool[Input, Output]{
	ID:           "issue_create",
	Description:  "Files an issue, and asks who is to have it if it is a severe one.",
	ResumeSchema: json.RawMessage(`{"type": "object", "properties": {"assignee": {"type": "string", "minLength": 1}}, "required": ["assignee"]}`),
	NeedsApproval: func(_ context.Context, _ *pluginsdk.Call, in Input) (bool, error) {
		return len(in.Labels) > 2, nil // it notifies the teams of all of its labels
	},
	OnInputDelta: func(_ context.Context, call *pluginsdk.Call, delta string) error {
		call.Progress(float64(len(delta)), 0, "reading") // call.InputSoFar has what there is, as JSON
		return nil
	},
	Execute: func(_ context.Context, call *pluginsdk.Call, in Input) (Output, error) {
		var got answer
		resumed, err := call.Resume(&got)
		switch {
		case err != nil:
			return Output{}, err
		case in.Severity == "high" && !resumed: // this run ends here; the answer begins another, in another process perhaps
			return Output{}, call.Suspend(question{Ask: "who takes " + in.Title + "?"})
		case in.Title == "everything":
			return Output{}, &pluginsdk.Error{Message: "an issue is about one thing", Data: json.RawMessage(`{"field": "title"}`)}
		}
		call.Logger().Info("filed", "title", in.Title)
		return Output{Number: 7, Assignee: got.Assignee}, nil
	},
	ToModelOutput: func(_ context.Context, in Input, out Output) (pluginsdk.ModelOutput, error) {
		return pluginsdk.Text(fmt.Sprintf("issue %d (%s) is filed", out.Number, in.Severity)), nil
	},
}

func main() { pluginsdk.Serve(create) }
