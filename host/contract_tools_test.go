//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
)

// raw is JSON as it is.
type raw = json.RawMessage

// noted writes down what a tool got: one line in the file that the conversation reads.
func noted(c *pluginsdk.Call, what string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(err.Error())
	}
	f, err := os.OpenFile(os.Getenv("TEST_RECORD"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s %s %s\n", c.ID(), c.Tool(), what, b)
}

// rawTool takes and gives JSON under explicit schemas, and notes that it ran.
func rawTool(id, input, output string, f func(ctx context.Context, c *pluginsdk.Call, in raw) (raw, error)) pluginsdk.Tool[raw, raw] {
	t := tool(id, func(ctx context.Context, c *pluginsdk.Call, in raw) (raw, error) {
		noted(c, "execute", in)
		return f(ctx, c, in)
	})
	if input != "" {
		t.InputSchema = raw(input)
	}
	if output != "" {
		t.OutputSchema = raw(output)
	}
	return t
}

func same(_ context.Context, _ *pluginsdk.Call, in raw) (raw, error) { return in, nil }

func always(out string) func(context.Context, *pluginsdk.Call, raw) (raw, error) {
	return func(context.Context, *pluginsdk.Call, raw) (raw, error) {
		if out == "" {
			return nil, nil
		}
		return raw(out), nil
	}
}

const (
	echoSchema = `{"type":"object","required":["text"],"properties":{
		"text":{"type":"string"},"times":{"type":"integer","default":1,"minimum":0,"maximum":9}}}`
	formsSchema = `{"type":"object","additionalProperties":false,"properties":{
		"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"s":{"type":"string"},"e":{"enum":["red","green"]},
		"list":{"type":"array","items":{"type":"integer"}},"names":{"type":"array","items":{"type":"string"}},
		"obj":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"},"y":{"type":["string","null"]},"deep":{"type":"object","properties":{"z":{"type":"number"}}}}},
		"either":{"type":["number","string"]},"nullable":{"type":["string","null"]},"def":{"type":"string","default":"filled"},
		"prompt":{"type":"string"},"map":{"type":"object","additionalProperties":{"type":"integer"}}}}`
	secretSchema = `{"type":"object","required":["user","password"],"properties":{
		"user":{"type":"string"},"password":{"type":"string","x-sensitive":true,"minLength":6},"mode":{"type":"string"}}}`
	promptSchema = `{"type":"object","required":["prompt"],"properties":{"prompt":{"type":"string"}}}`
)

func contractTools() []pluginsdk.Definition {
	tools := []pluginsdk.Definition{
		rawTool("echo", echoSchema, echoSchema, same),
		rawTool("any", "", "", same),
		rawTool("nothing", `{"type":"object","additionalProperties":false}`, "", always(`"ran"`)),
		rawTool("forms", formsSchema, "", same),
		rawTool("list", `{"type":"array","items":{"type":"string"}}`, "", same),
		rawTool("reserved", `{"type":"object","properties":{"resumeData":{"type":"object"},"suspendedToolCallId":{},"suspendedToolRunId":{},"_background":{}}}`, "", same),
		rawTool("agent-helper", promptSchema, "", same),
		rawTool("helper", promptSchema, "", same),
		rawTool("secret", secretSchema, "", secret),
		rawTool("void", "", "", always("")),
		rawTool("strictvoid", "", `{"type":"object"}`, always("")),
		rawTool("nullable", "", `{"type":["object","null"]}`, always("")),
		rawTool("fail", "", "", func(context.Context, *pluginsdk.Call, raw) (raw, error) {
			return nil, &pluginsdk.Error{Message: "the sea is rough", Data: raw(`{"waves":7}`)}
		}),
		rawTool("panic", "", "", func(context.Context, *pluginsdk.Call, raw) (raw, error) { panic("spilled the beans") }),
		rawTool("wait", "", "", waitForEnd),
		rawTool("ordered", `{"type":"object","properties":{"after":{"type":"integer"}}}`, "", finishAfter),
		rawTool("talk", "", "", talk),
		rawTool("question", "", "", question),
	}
	tools = append(append(tools, checkedTools()...), append(approvalTools(), lifeTools()...)...)
	return append(append(tools, contextTools()...), viewTools()...)
}

// secret uses its password in every way that the host must not show.
func secret(_ context.Context, c *pluginsdk.Call, in raw) (raw, error) {
	var v struct{ User, Password, Mode string }
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, err
	}
	switch v.Mode {
	case "fail":
		return nil, &pluginsdk.Error{Message: "wrong password " + v.Password, Data: raw(`{"tried":"` + v.Password + `"}`)}
	case "suspend":
		if resumed, err := c.Resume(new(any)); resumed || err != nil {
			return raw(`"resumed"`), err
		}
		return nil, c.Suspend(map[string]string{"for": v.User})
	}
	return json.Marshal(map[string]string{"user": v.User, "used": v.Password})
}

func waitForEnd(ctx context.Context, c *pluginsdk.Call, _ raw) (raw, error) {
	if _, limited := ctx.Deadline(); !limited {
		return nil, errors.New("no deadline")
	}
	c.Progress(0, 0, "waiting")
	<-ctx.Done()
	noted(c, "cancelled", context.Cause(ctx).Error())
	return nil, ctx.Err()
}

// finishAfter takes so many milliseconds.
func finishAfter(ctx context.Context, _ *pluginsdk.Call, in raw) (raw, error) {
	var v struct{ After int }
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Duration(v.After) * time.Millisecond):
		return in, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// talk says everything that a tool can say beside its output.
func talk(ctx context.Context, c *pluginsdk.Call, in raw) (raw, error) {
	c.Logger().Info("said by the tool", slog.String("key", "value"))
	err := c.Span(ctx, "part", func(context.Context) error { return c.Write(ctx, map[string]string{"part": "one"}) })
	if err != nil {
		return nil, err
	}
	if err := c.Write(ctx, "two"); err != nil {
		return nil, err
	}
	c.Progress(1, 2, "half way")
	return in, nil
}

func question(ctx context.Context, c *pluginsdk.Call, _ raw) (raw, error) {
	a, err := c.Elicit(ctx, pluginsdk.Question{Message: "which city?", Schema: raw(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"action": a.Action, "content": a.Content})
}

// checkedTools break their output schema, or read the context and the messages.
func checkedTools() []pluginsdk.Definition {
	const number = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	reject := rawTool("badout", "", number, always(`{"n":"many"}`))
	warn := rawTool("warnout", "", number, always(`{"n":"many"}`))
	warn.OutputMode = pluginsdk.OutputWarn
	off := rawTool("offout", "", number, always(`{"n":"many"}`))
	off.OutputMode = pluginsdk.OutputOff
	reqContext := tool("context", func(_ context.Context, c *pluginsdk.Call, _ raw) (raw, error) {
		var v raw
		err := c.RequestContext(&v)
		noted(c, "context", v)
		return v, err
	})
	reqContext.InputSchema = raw(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	reqContext.RequestContextSchema = raw(`{"type":"object","required":["user"],"properties":{
		"user":{"type":"string"},"lang":{"type":"string","default":"en"},"apiToken":{"type":"string","x-sensitive":true,"minLength":6}}}`)
	half := rawTool("halfout", "", echoSchema, always(`{ "text" : "x", "n" : 1.0 }`)) // lacks times, which has a default
	locale := tool("locale", reqContext.Execute)
	locale.RequestContextSchema = raw(`{"type":"object","properties":{"lang":{"type":"string","default":"en"}}}`)
	messages := rawTool("messages", "", "", func(_ context.Context, c *pluginsdk.Call, _ raw) (raw, error) { return c.Messages(), nil })
	messages.WantsMessages = true
	deaf := rawTool("deaf", "", "", func(_ context.Context, c *pluginsdk.Call, _ raw) (raw, error) { // asks for nothing
		var v raw
		err := c.RequestContext(&v)
		return raw(fmt.Sprintf(`{"messages":%q,"context":%q}`, c.Messages(), v)), err
	})
	unrepaired := rawTool("unrepaired", echoSchema, "", same)
	unrepaired.NoRepairs = []string{"text", "number", "null", "stringified", "boolean", "whole-argument"}
	strict := rawTool("strict", echoSchema, "", same)
	strict.Strict = new(bool)
	*strict.Strict = true
	return []pluginsdk.Definition{reject, warn, off, half, reqContext, locale, messages, deaf, unrepaired, strict}
}

// approvalTools ask before or while they run.
func approvalTools() []pluginsdk.Definition {
	flag := rawTool("dangerous", echoSchema, "", same)
	flag.RequireApproval = true
	checks := rawTool("spend", `{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer"}}}`, "", same)
	checks.NeedsApproval = func(_ context.Context, c *pluginsdk.Call, in raw) (bool, error) {
		noted(c, "needsApproval", in)
		var v struct{ Amount int }
		if err := json.Unmarshal(in, &v); err != nil {
			return false, err
		}
		switch {
		case v.Amount == -1:
			return false, errors.New("the check broke")
		case v.Amount == -2:
			panic("the check panicked")
		}
		return v.Amount > 100, nil
	}
	wizard := rawTool("wizard", `{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"rounds":{"type":"integer","default":1},"bad":{"type":"boolean"}}}`, "", askForCity)
	wizard.SuspendSchema = raw(`{"type":"object","required":["question"],"properties":{"question":{"type":"string"},"round":{"type":"integer"}}}`)
	wizard.ResumeSchema = raw(`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"},"sure":{"type":"boolean","default":true}}}`)
	wizard.OnResume = func(_ context.Context, c *pluginsdk.Call, data raw) error { noted(c, "onResume", data); return nil }
	wizard.OnInputAvailable = func(_ context.Context, c *pluginsdk.Call, in raw) error { noted(c, "onInputAvailable", in); return nil }
	gated := wizard // approval first, then suspension
	gated.ID, gated.RequireApproval = "gatedwizard", true
	openEnded := rawTool("anyanswer", "", "", func(_ context.Context, c *pluginsdk.Call, _ raw) (raw, error) { // no schemas
		var v raw
		resumed, err := c.Resume(&v)
		if err != nil || resumed {
			return raw(fmt.Sprintf(`{"got":%s}`, v)), err
		}
		return nil, c.Suspend("well?")
	})
	atRunTime := rawTool("atruntime", echoSchema, "", func(_ context.Context, c *pluginsdk.Call, in raw) (raw, error) {
		resumed, err := c.Resume(new(any))
		if err != nil || resumed {
			return raw(`"approved at run time"`), err
		}
		return nil, c.AskApproval(map[string]string{"plan": "delete everything"})
	})
	return []pluginsdk.Definition{flag, checks, wizard, gated, openEnded, atRunTime}
}

// askForCity suspends as many times as it is told to.
func askForCity(_ context.Context, c *pluginsdk.Call, in raw) (raw, error) {
	var v struct {
		City   string
		Rounds int
		Bad    bool
	}
	var payload struct {
		Question string `json:"question"`
		Round    int    `json:"round"`
	}
	var answer raw
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, err
	}
	if _, err := c.SuspendPayload(&payload); err != nil {
		return nil, err
	}
	if _, err := c.Resume(&answer); err != nil {
		return nil, err
	}
	if v.Bad {
		return nil, c.Suspend(map[string]int{"question": 7})
	}
	if payload.Round < v.Rounds {
		payload.Question, payload.Round = "how is "+v.City+"?", payload.Round+1
		return nil, c.Suspend(payload)
	}
	return raw(fmt.Sprintf(`{"city":%q,"round":%d,"answer":%s}`, v.City, payload.Round, answer)), nil
}

// lifeTools have callbacks, forms for the model, and every field of a definition.
func lifeTools() []pluginsdk.Definition {
	life := rawTool("life", echoSchema, echoSchema, same)
	withCallbacks(&life, nil)
	broken := rawTool("brokenlife", echoSchema, echoSchema, same)
	withCallbacks(&broken, errors.New("the callback broke"))
	panicking := rawTool("panickinglife", echoSchema, echoSchema, same)
	withCallbacks(&panicking, errPanic)
	badLife := rawTool("badlife", echoSchema, echoSchema, always(`{"text":7}`))
	withCallbacks(&badLife, nil)
	warnLife := badLife
	warnLife.ID, warnLife.OutputMode = "warnlife", pluginsdk.OutputWarn
	deadLife := rawTool("deadlife", echoSchema, echoSchema, func(context.Context, *pluginsdk.Call, raw) (raw, error) {
		return nil, errors.New("it failed")
	})
	withCallbacks(&deadLife, nil)
	gated := life
	gated.ID, gated.RequireApproval = "gatedlife", true
	model := rawTool("model", `{"type":"object","properties":{"form":{"type":"string"},"text":{"type":"string"}}}`, "", same)
	model.ToModelOutput = toModel
	return []pluginsdk.Definition{life, broken, panicking, badLife, warnLife, deadLife, gated, model, fullTool()}
}

var errPanic = errors.New("panic")

// withCallbacks notes every callback, which then ends with err.
func withCallbacks(t *pluginsdk.Tool[raw, raw], err error) {
	end := func() error {
		if err == errPanic {
			panic("the callback panicked")
		}
		return err
	}
	t.OnInputStart = func(_ context.Context, c *pluginsdk.Call) error { noted(c, "onInputStart", nil); return end() }
	t.OnInputDelta = func(_ context.Context, c *pluginsdk.Call, d string) error { noted(c, "onInputDelta", d); return end() }
	t.OnInputAvailable = func(_ context.Context, c *pluginsdk.Call, in raw) error {
		noted(c, "onInputAvailable", in)
		return end()
	}
	t.OnOutput = func(_ context.Context, c *pluginsdk.Call, out raw) error { noted(c, "onOutput", out); return end() }
}

// toModel makes the form that the input names.
func toModel(_ context.Context, in, out raw) (pluginsdk.ModelOutput, error) {
	var v struct{ Form, Text string }
	if err := json.Unmarshal(out, &v); err != nil {
		return pluginsdk.ModelOutput{}, err
	}
	switch v.Form {
	case "text":
		return pluginsdk.Text("for the model: " + v.Text), nil
	case "json":
		return pluginsdk.JSON(map[string]string{"short": v.Text})
	case "content":
		return pluginsdk.Content(
			pluginsdk.Part{Type: pluginsdk.PartText, Text: v.Text},
			pluginsdk.Part{Type: pluginsdk.PartImageURL, URL: "https://example.com/a.png"},
			pluginsdk.Part{Type: pluginsdk.PartImageData, Data: []byte("img"), MediaType: "image/png"},
			pluginsdk.Part{Type: pluginsdk.PartFileURL, URL: "https://example.com/a.pdf"},
			pluginsdk.Part{Type: pluginsdk.PartFileData, Data: []byte("pdf"), MediaType: "application/pdf", Filename: "a.pdf"},
			pluginsdk.Part{Type: pluginsdk.PartFileID, FileID: "file-1"},
			pluginsdk.Part{Type: pluginsdk.PartImageFileID, FileID: "file-2"},
			pluginsdk.Part{Type: pluginsdk.PartCustom, ProviderOptions: raw(`{"acme":{"k":1}}`)},
		)
	case "badpart":
		return pluginsdk.Content(pluginsdk.Part{Type: pluginsdk.PartImageURL})
	case "unknown":
		return pluginsdk.ModelOutput{Type: "hologram", Value: raw(`1`)}, nil
	case "fail":
		return pluginsdk.ModelOutput{}, errors.New("the mapping broke")
	case "panic":
		panic("the mapping panicked")
	}
	return pluginsdk.ModelOutput{}, nil
}

// fullTool sets every field of a definition (T-1).
func fullTool() pluginsdk.Definition {
	t := rawTool("full", echoSchema, echoSchema, same)
	yes, no := true, false
	t.Title, t.Description = "The whole tool", "Has every field."
	t.SuspendSchema, t.ResumeSchema = raw(`{"type":"object"}`), raw(`{"type":"string"}`)
	t.RequestContextSchema = raw(`{"type":"object","properties":{"user":{"type":"string"}}}`)
	t.Strict = &no
	t.ProviderOptions = raw(`{"acme":{"cache":true}}`)
	t.InputExamples = []raw{raw(`{"text":"an example"}`)}
	t.MCP = pluginsdk.MCP{Annotations: &pluginsdk.Annotations{Title: "Whole", ReadOnly: &yes, OpenWorld: &no}, Meta: raw(`{"x":1}`), Icons: raw(`[{"src":"https://example.com/i.png"}]`), Extra: raw(`{"execution":{"taskSupport":"optional"}}`)}
	t.Background = raw(`{"enabled":true}`)
	t.Timeout, t.MaxConcurrency, t.OutputMode = 5*time.Second, 3, pluginsdk.OutputWarn
	t.RequireApproval = true
	t.NeedsApproval = func(context.Context, *pluginsdk.Call, raw) (bool, error) { return true, nil }
	t.ToModelOutput = toModel
	withCallbacks(&t, nil)
	return t
}

// badTools hold one good tool among such as must be refused.
func badTools() []pluginsdk.Definition {
	badSchema := rawTool("badschema", `{"type":"object","properties":{"a":{"type":"strange"}}}`, "", same)
	badDefault := rawTool("baddefault", `{"type":"object","properties":{"a":{"type":"integer","default":"x"}}}`, "", same)
	badExample := rawTool("badexample", echoSchema, "", same)
	badExample.InputExamples = []raw{raw(`{"text":7}`)}
	badDialect := rawTool("baddialect", `{"$schema":"https://example.com/my-own","type":"object"}`, "", same)
	nameless := rawTool("", "", "", same)
	badName := rawTool("has space", "", "", same)
	undescribed := rawTool("undescribed", "", "", same)
	undescribed.Description = ""
	idle := rawTool("idle", "", "", same)
	idle.Execute = nil
	badOptions := rawTool("badoptions", "", "", same)
	badOptions.ProviderOptions = raw(`[1]`)
	return []pluginsdk.Definition{
		rawTool("good", echoSchema, "", same), badSchema, badDefault, badExample, badDialect, nameless, badName, undescribed, idle, badOptions,
		rawTool("good", "", "", always(`"the second"`)),
	}
}

// otherTools are those of a second plugin; one has a name that the first has, too.
func otherTools() []pluginsdk.Definition {
	return []pluginsdk.Definition{
		rawTool("echo", echoSchema, "", always(`"the other echo"`)),
		rawTool("extra", "", "", always(`"extra"`)),
	}
}
