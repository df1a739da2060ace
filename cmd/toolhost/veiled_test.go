package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/pluginsdk"
)

// veiledTool hides by its views what it is given, what it returns, fails with, suspends with and is resumed with.
func veiledTool(id string, byFunction bool) pluginsdk.Definition {
	tool := pluginsdk.Tool[fileIn, map[string]string]{
		ID: id, Description: "Hides everything.", InputSchema: []byte(fileSchema), RequireApproval: true,
		OutputSchema: []byte(`{"type":"object","properties":{"id":{"type":"string","maxLength":3},"raw":{"const":"PLANTE\u0044"}}}`), // the definition is no secret, and remembered,
		OnInputDelta: func(context.Context, *pluginsdk.Call, string) error { return nil },
		Execute: func(ctx context.Context, call *pluginsdk.Call, in fileIn) (map[string]string, error) {
			if err := call.Write(ctx, map[string]string{"raw": "PLANTED"}); err != nil {
				return nil, err
			}
			if again, err := call.Resume(new(any)); in.Line == "suspend" && !again {
				return nil, errors.Join(err, call.Suspend(map[string]string{"raw": "PLANTED"}))
			}
			if in.Line == "fail" {
				return nil, &pluginsdk.Error{Message: "PLANTED", Data: []byte(`{"raw":"PLANTED"}`)}
			}
			if in.Line == "break" {
				return map[string]string{"raw": "PLANTED", "id": "PLANTED"}, nil
			}
			return map[string]string{"raw": "PLANTED", "id": "7"}, nil
		},
	}
	v := &tool.Transform.Display
	if !byFunction {
		v.Output, v.Input, v.Suspend = pluginsdk.Keep("/id"), pluginsdk.Keep("/line"), pluginsdk.Mask("/raw")
		v.Error, v.Resume = pluginsdk.Replace("", map[string]string{"message": "hidden"}), pluginsdk.Mask("")
		return tool
	}
	hidden := func() (any, error) { return map[string]string{"message": "hidden"}, nil }
	v.InputFunc = func(context.Context, *pluginsdk.Call, fileIn) (any, error) { return hidden() }
	v.OutputFunc = func(context.Context, *pluginsdk.Call, fileIn, map[string]string) (any, error) { return hidden() }
	v.ErrorFunc = func(context.Context, *pluginsdk.Call, error) (any, error) { return hidden() }
	v.SuspendFunc = func(context.Context, *pluginsdk.Call, json.RawMessage) (any, error) { return hidden() }
	v.ResumeFunc = func(context.Context, *pluginsdk.Call, json.RawMessage) (any, error) { panic("PLANTED") }
	return tool
}
