package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk"
)

// rounds are the tools whose questions a client of 2026-07-28 answers by calling again (SEP-2322).
func rounds() []pluginsdk.Definition {
	return []pluginsdk.Definition{
		simple("test_input_required_result_elicitation", "Greets the user by name.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			name, err := field(ctx, c, "What is your name?", userName, "name")
			return "Hello, " + name + "!", err
		}),
		simple("test_input_required_result_sampling", "Asks the client's model for a capital.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			return sample(ctx, c, "What is the capital of France?", 100)
		}),
		simple("test_input_required_result_list_roots", "Lists the client's roots.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			a, err := c.Roots(ctx)
			if err != nil {
				return "", err
			}
			if !a.Accepted() {
				return "", errDeclined
			}
			return fmt.Sprintf("The roots are: %s", a.Content), nil
		}),
		simple("test_input_required_result_request_state", "Goes on from where it was when the user has confirmed.", confirmed),
		simple("test_input_required_result_tampered_state", "Does the same, for a client that changes the state.", confirmed),
		simple("test_input_required_result_multiple_inputs", "Asks for a name, a greeting and the roots at once.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			answers, err := together(ctx, c)
			if err != nil {
				return "", err
			}
			for _, a := range answers {
				if !a.Accepted() {
					return "", errDeclined
				}
			}
			return fmt.Sprintf("Three answers: %s, %s, %s", answers[0].Content, answers[1].Content, answers[2].Content), nil
		}),
		simple("test_input_required_result_multi_round", "Asks for a name, then for a colour.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			name, err := field(ctx, c, "Step 1: What is your name?", object("step1", "name"), "name")
			if err != nil {
				return "", err
			}
			colour, err := field(ctx, c, "Step 2: What is your favorite color?", object("step2", "color"), "color")
			return name + " likes " + colour, err
		}),
		simple("test_input_required_result_capabilities", "Asks for whatever the client can answer.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			answers, err := together(ctx, c)
			n := 0
			for _, a := range answers {
				if a.Accepted() {
					n++
				}
			}
			return fmt.Sprintf("%d questions were answered.", n), err
		}),
	}
}

// together asks one question of each kind at once.
func together(ctx context.Context, c *pluginsdk.Call) ([]pluginsdk.Answer, error) {
	return c.ElicitAll(ctx,
		pluginsdk.Question{Message: "What is your name?", Schema: json.RawMessage(userName)},
		pluginsdk.Question{Message: "Generate a greeting", Kind: pluginsdk.QuestionSampling, Params: sampling("Generate a greeting", 50)},
		pluginsdk.Question{Message: "The tool wants to know the roots", Kind: pluginsdk.QuestionRoots})
}

// confirmed goes on when the user confirms.
func confirmed(ctx context.Context, c *pluginsdk.Call) (string, error) {
	a, err := c.Elicit(ctx, pluginsdk.Question{Message: "Please confirm", Schema: json.RawMessage(confirm)})
	if err != nil {
		return "", err
	}
	if !a.Accepted() {
		return "", errDeclined
	}
	return "state-ok", nil
}

// field asks for one text.
func field(ctx context.Context, c *pluginsdk.Call, message, schema, name string) (string, error) {
	a, err := c.Elicit(ctx, pluginsdk.Question{Message: message, Schema: json.RawMessage(schema)})
	if err != nil {
		return "", err
	}
	if !a.Accepted() {
		return "", errDeclined
	}
	var fields map[string]string
	err = a.Decode(&fields)
	return fields[name], err
}

// object is the schema of an object with one text, and the question's name.
func object(title, name string) string {
	return fmt.Sprintf(`{"title":%q,"type":"object","properties":{%q:{"type":"string"}},"required":[%[2]q]}`, title, name)
}
