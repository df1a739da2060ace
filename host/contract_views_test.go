//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/toolhost/toolhost/pluginsdk"
)

// viewTools show something else than they do, or show too much.
func viewTools() []pluginsdk.Definition {
	shown := rawTool("shown", shownSchema, "", behave)
	shown.Transform = pluginsdk.Transform[raw, raw]{Display: everyView("display"), Transcript: everyView("transcript")}
	shown.ToModelOutput = func(_ context.Context, _, out raw) (pluginsdk.ModelOutput, error) {
		return pluginsdk.Text("model " + string(out)), nil
	}
	asked := shown
	asked.ID = "askedshown"
	asked.NeedsApproval = func(context.Context, *pluginsdk.Call, raw) (bool, error) { return true, nil }
	flagged := shown // asked without the plugin, which would have to see the input to show it
	flagged.ID, flagged.RequireApproval = "flagshown", true
	unasked := asked // whoever decides sees the input's view
	unasked.ID = "unaskedshown"
	unasked.Transform.Display.ApprovalFunc, unasked.Transform.Transcript.ApprovalFunc = nil, nil
	ruled := rawTool("ruled", shownSchema, "", behave)
	ruled.Transform.Display = pluginsdk.Views[raw, raw]{
		Input: pluginsdk.Keep("/mode"), Output: pluginsdk.Mask("/text"), Error: pluginsdk.Replace("/message", "it went wrong").Mask("/data/text"),
		Approval: pluginsdk.Keep("/mode"), Suspend: pluginsdk.Mask("/about"), Resume: pluginsdk.Mask("/answer"),
	}
	ruled.Transform.Transcript = pluginsdk.Views[raw, raw]{Input: pluginsdk.Keep("/text"), Output: pluginsdk.Keep("/mode")}
	half := rawTool("halfshown", shownSchema, "", behave) // every phase but the output is left out
	half.Transform.Display.Output = pluginsdk.Keep("/mode")
	strict := rawTool("halfstrict", echoSchema, "", same)
	strict.Transform.Display.Output = pluginsdk.Keep("/times")
	broken := rawTool("brokenshown", shownSchema, "", behave)
	broken.Transform.Display = brokenViews()
	leaky := rawTool("leaky", secretSchema, "", leak)
	leaky.RequireApproval = true
	return append(modelTools(), shown, asked, flagged, unasked, ruled, half, strict, broken, leaky)
}

const shownSchema = `{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"mode":{"type":"string"}}}`

// behave ends as the input says.
func behave(ctx context.Context, c *pluginsdk.Call, in raw) (raw, error) {
	var v struct{ Text, Mode string }
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, err
	}
	if resumed, err := c.Resume(new(any)); resumed || err != nil {
		return in, err
	}
	switch v.Mode {
	case "fail":
		return nil, &pluginsdk.Error{Message: "failed over " + v.Text, Data: in}
	case "suspend":
		return nil, c.Suspend(map[string]string{"about": v.Text})
	case "ask":
		return nil, c.AskApproval(map[string]string{"about": v.Text})
	case "write":
		if err := c.Write(ctx, map[string]string{"part": v.Text}); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// everyView is a function for each phase, that says who sees which phase of what.
func everyView(who string) pluginsdk.Views[raw, raw] {
	form := func(phase string, v any) (any, error) { return map[string]any{who: phase, "of": v}, nil }
	return pluginsdk.Views[raw, raw]{
		InputFunc:      func(_ context.Context, _ *pluginsdk.Call, in raw) (any, error) { return form("input", in) },
		InputDeltaFunc: func(_ context.Context, _ *pluginsdk.Call, delta string) (string, error) { return "<" + who + ">", nil },
		OutputFunc:     func(_ context.Context, _ *pluginsdk.Call, _, out raw) (any, error) { return form("output", out) },
		ErrorFunc: func(_ context.Context, _ *pluginsdk.Call, err error) (any, error) {
			return map[string]string{"message": who + " error"}, nil
		},
		ApprovalFunc: func(_ context.Context, _ *pluginsdk.Call, in raw) (any, error) { return form("approval", in) },
		SuspendFunc:  func(_ context.Context, _ *pluginsdk.Call, p raw) (any, error) { return form("suspend", p) },
		ResumeFunc:   func(_ context.Context, _ *pluginsdk.Call, d raw) (any, error) { return form("resume", d) },
	}
}

// brokenViews fail, panic, or make what is no JSON.
func brokenViews() pluginsdk.Views[raw, raw] {
	broke := errors.New("the view broke")
	return pluginsdk.Views[raw, raw]{
		InputFunc:      func(context.Context, *pluginsdk.Call, raw) (any, error) { return nil, broke },
		InputDeltaFunc: func(context.Context, *pluginsdk.Call, string) (string, error) { return "half a view", broke },
		OutputFunc:     func(context.Context, *pluginsdk.Call, raw, raw) (any, error) { panic("the view panicked") },
		ErrorFunc:      func(context.Context, *pluginsdk.Call, error) (any, error) { return nil, broke },
		SuspendFunc:    func(context.Context, *pluginsdk.Call, raw) (any, error) { return raw("{"), nil },
	}
}

// leak says its password wherever a tool can say something.
func leak(ctx context.Context, c *pluginsdk.Call, in raw) (raw, error) {
	var v struct{ Password, Mode string }
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, err
	}
	if resumed, err := c.Resume(new(any)); resumed || err != nil {
		return raw(`"resumed"`), err
	}
	c.Logger().Info("logged in", slog.Int("length", len(v.Password)))
	c.Progress(1, 2, "trying "+v.Password)
	if err := c.Write(ctx, map[string]string{"tried": v.Password}); err != nil {
		return nil, err
	}
	switch v.Mode {
	case "fail":
		return nil, &pluginsdk.Error{Message: "wrong: " + v.Password, Data: raw(fmt.Sprintf(`{"tried":%q}`, v.Password))}
	case "suspend":
		return nil, c.Suspend(map[string]string{"is it": v.Password})
	}
	return raw(fmt.Sprintf(`{"used":%q}`, v.Password)), nil
}

// modelTools have outputs of every kind, and forms of them for the model.
func modelTools() []pluginsdk.Definition {
	gives := rawTool("gives", "", "", func(_ context.Context, _ *pluginsdk.Call, in raw) (raw, error) {
		var v struct{ Value raw }
		err := json.Unmarshal(in, &v)
		return v.Value, err
	})
	mapped := rawTool("mapped", shownSchema, echoSchema, func(_ context.Context, _ *pluginsdk.Call, in raw) (raw, error) {
		var v struct{ Text, Mode string }
		if err := json.Unmarshal(in, &v); err != nil {
			return nil, err
		}
		switch v.Mode {
		case "invalid":
			return raw(`{"text":7}`), nil
		case "fail":
			return nil, errors.New("it failed")
		}
		return raw(fmt.Sprintf(`{"text":%q}`, v.Text)), nil
	})
	mapped.ToModelOutput = func(_ context.Context, _, out raw) (pluginsdk.ModelOutput, error) {
		return pluginsdk.Text("mapped " + string(out)), nil
	}
	bare := rawTool("bare", "", "", same)
	bare.ToModelOutput = func(context.Context, raw, raw) (pluginsdk.ModelOutput, error) {
		return pluginsdk.ModelOutput{Value: raw(`"a bare string"`)}, nil
	}
	loud := rawTool("loud", "", "", func(_ context.Context, c *pluginsdk.Call, _ raw) (raw, error) {
		if resumed, err := c.Resume(new(any)); resumed || err != nil {
			return raw(`"resumed"`), err
		}
		return raw(`"to be ignored"`), fmt.Errorf("wrapped: %w", c.Suspend("well?"))
	})
	guarded := rawTool("guarded", echoSchema, "", same)
	guarded.RequestContextSchema = raw(`{"type":"object","properties":{"user":{"type":"string"}}}`)
	guarded.NeedsApproval = func(_ context.Context, c *pluginsdk.Call, in raw) (bool, error) {
		var reqContext raw
		err := c.RequestContext(&reqContext)
		noted(c, "needsApproval", []raw{in, reqContext})
		return string(reqContext) != `{"user":"root"}`, err
	}
	quiet := tool("quiet", same) // notes nothing
	return []pluginsdk.Definition{quiet, gives, mapped, bare, loud, guarded}
}
