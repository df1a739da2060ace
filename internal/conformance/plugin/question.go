package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk"
)

// questions are the tools that ask one thing, as every client that answers questions can be asked.
func questions() []pluginsdk.Definition {
	return []pluginsdk.Definition{
		pluginsdk.Tool[prompt, any]{
			ID:          "test_sampling",
			Description: "Asks the client's model.",
			Execute: func(ctx context.Context, c *pluginsdk.Call, in prompt) (any, error) {
				text, err := sample(ctx, c, in.Prompt, 100)
				return "LLM response: " + text, err
			},
		},
		pluginsdk.Tool[message, any]{
			ID:          "test_elicitation",
			Description: "Asks the user for a name and an address.",
			Execute: func(ctx context.Context, c *pluginsdk.Call, in message) (any, error) {
				return elicit(ctx, c, in.Message, `{"type":"object","properties":{
					"username":{"type":"string","description":"User's response"},
					"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)
			},
		},
		asks("test_elicitation_sep1034_defaults", "Asks with a default value for every primitive type.", `{"type":"object","properties":{
			"name":{"type":"string","default":"John Doe"},
			"age":{"type":"integer","default":30},
			"score":{"type":"number","default":95.5},
			"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
			"verified":{"type":"boolean","default":true}}}`),
		asks("test_elicitation_sep1330_enums", "Asks with every way to write a choice.", `{"type":"object","properties":{
			"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`),
		simple("test_missing_capability", "Cannot run without the client's model.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			return sample(ctx, c, "Say hello", 10)
		}),
		simple("test_streaming_elicitation", "Reports its progress, then asks the user.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			c.Progress(1, 2, "about to ask")
			return elicit(ctx, c, "May the tool go on?", confirm)
		}),
	}
}

type prompt struct {
	Prompt string `json:"prompt"`
}

type message struct {
	Message string `json:"message"`
}

// The title of a schema is the name of the question among a call's.
const (
	confirm  = `{"title":"confirm","type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	userName = `{"title":"user_name","type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
)

// errDeclined is the end of a tool that needs an answer.
var errDeclined = errors.New("the question was not answered")

// asks is a tool without parameters that asks one question.
func asks(id, description, schema string) pluginsdk.Definition {
	return simple(id, description, func(ctx context.Context, c *pluginsdk.Call) (string, error) {
		return elicit(ctx, c, "Please fill in the form", schema)
	})
}

// elicit asks and says what the answer was, whatever it was.
func elicit(ctx context.Context, c *pluginsdk.Call, message, schema string) (string, error) {
	a, err := c.Elicit(ctx, pluginsdk.Question{Message: message, Schema: json.RawMessage(schema)})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Elicitation completed: action=%s, content=%s", a.Action, a.Content), nil
}

// sample returns what the client's model says to the text. No answer is an error.
func sample(ctx context.Context, c *pluginsdk.Call, text string, tokens int) (string, error) {
	a, err := c.Sample(ctx, sampling(text, tokens))
	if err != nil {
		return "", err
	}
	return said(a)
}

// sampling are the parameters of sampling/createMessage.
func sampling(text string, tokens int) json.RawMessage {
	quoted, _ := json.Marshal(text) // a string always has a form
	return fmt.Appendf(nil, `{"messages":[{"role":"user","content":{"type":"text","text":%s}}],"maxTokens":%d}`, quoted, tokens)
}

// said is the text of an answer to sampling/createMessage.
func said(a pluginsdk.Answer) (string, error) {
	var m struct{ Content struct{ Text string } }
	if !a.Accepted() {
		return "", errDeclined
	}
	err := a.Decode(&m)
	return m.Content.Text, err
}
