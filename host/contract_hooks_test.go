//go:build unix

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host"
)

// hook is a hook of this name; testdata/contract/README.md lists them.
func (c *conversation) hook(name string) (host.Hook, error) {
	before := func(f func(call *host.Call) (*host.Result, error)) host.Hook {
		return host.Hook{Before: func(_ context.Context, call *host.Call) (*host.Result, error) {
			c.traced("%s before %s %s", call.ID, name, call.Input)
			return f(call)
		}}
	}
	after := func(f func(res *host.Result, err error) (*host.Result, error)) host.Hook {
		return host.Hook{After: func(_ context.Context, call host.Call, res *host.Result, err error) (*host.Result, error) {
			c.traced("%s after %s %s", call.ID, name, outcomeWord(res, err))
			return f(res, err)
		}}
	}
	input := func(text string) host.Hook {
		return before(func(call *host.Call) (*host.Result, error) { call.Input = json.RawMessage(text); return nil, nil })
	}
	refuse := func(err error) host.Hook {
		return before(func(*host.Call) (*host.Result, error) { return nil, err })
	}
	switch name {
	case "outer", "inner", "watch":
		return host.Hook{
			Before: before(func(*host.Call) (*host.Result, error) { return nil, nil }).Before,
			After:  after(func(*host.Result, error) (*host.Result, error) { return nil, nil }).After,
		}, nil
	case "change-input":
		return input(`{"text":"changed by a hook","times":1}`), nil
	case "break-input":
		return input(`{"text":7}`), nil
	case "list-input":
		return input(`[1]`), nil
	case "stringify-input": // what the repairs would mend
		return input(`{"text":"x","times":"5"}`), nil
	case "answer":
		return before(func(*host.Call) (*host.Result, error) {
			return &host.Result{Output: json.RawMessage(`{"text":"from the hook","times":1}`)}, nil
		}), nil
	case "bad-answer":
		return before(func(*host.Call) (*host.Result, error) {
			return &host.Result{Output: json.RawMessage(`{"text":7}`)}, nil
		}), nil
	case "empty-answer":
		return before(func(*host.Call) (*host.Result, error) { return &host.Result{}, nil }), nil
	case "deny":
		return refuse(fmt.Errorf("not on Sundays: %w", host.ErrDenied)), nil
	case "need-approval":
		return refuse(fmt.Errorf("it costs money: %w", host.ErrNeedsApproval)), nil
	case "fail-before":
		return refuse(errors.New("the hook broke")), nil
	case "panic-before":
		return before(func(*host.Call) (*host.Result, error) { panic("the hook panicked") }), nil
	case "rewrite":
		return after(func(res *host.Result, err error) (*host.Result, error) {
			if res == nil {
				return &host.Result{Output: json.RawMessage(`{"text":"made up"}`)}, nil
			}
			res.Output = bytes.ReplaceAll(res.Output, []byte("hi"), []byte("rewritten"))
			return res, nil
		}), nil
	case "rewrite-again": // what rewrite left
		return after(func(res *host.Result, _ error) (*host.Result, error) {
			return &host.Result{Output: bytes.ReplaceAll(res.Output, []byte("rewritten"), []byte("rewritten twice"))}, nil
		}), nil
	case "break-output":
		return after(func(*host.Result, error) (*host.Result, error) {
			return &host.Result{Output: json.RawMessage(`{"text":7}`)}, nil
		}), nil
	case "fail-after":
		return after(func(*host.Result, error) (*host.Result, error) { return nil, errors.New("the hook broke") }), nil
	case "panic-after":
		return after(func(*host.Result, error) (*host.Result, error) { panic("the hook panicked") }), nil
	}
	return host.Hook{}, fmt.Errorf("no hook is named %q", name)
}

func outcomeWord(res *host.Result, err error) string {
	if e, ok := errors.AsType[*host.Error](err); ok {
		return "error " + e.Code.String()
	}
	return "result " + orVoid(res.Output)
}

// contractTransforms are the host-wide policies by name.
var contractTransforms = map[string]*host.Transform{
	"display":    {Display: hide},
	"transcript": {Transcript: hide},
	"both":       {Display: hide, Transcript: hide},
	"silent":     {Display: func(context.Context, host.Payload) (json.RawMessage, error) { return nil, nil }},
	"failing": {Display: func(context.Context, host.Payload) (json.RawMessage, error) {
		return nil, errors.New("the policy broke")
	}},
	"panicking": {Display: func(context.Context, host.Payload) (json.RawMessage, error) { panic("the policy panicked") }},
	"no-json":   {Display: func(context.Context, host.Payload) (json.RawMessage, error) { return json.RawMessage("{"), nil }},
	"output-only": {Display: func(_ context.Context, p host.Payload) (json.RawMessage, error) {
		if p.Phase != host.PhaseOutput {
			return nil, nil
		}
		return hide(context.Background(), p)
	}},
}

// hide shows the phase, tool and call, and nothing of the value.
func hide(_ context.Context, p host.Payload) (json.RawMessage, error) {
	if p.Phase == host.PhaseInputDelta {
		return json.RawMessage(`"·"`), nil
	}
	if p.Phase == host.PhaseError {
		return json.RawMessage(`{"message":"hidden error"}`), nil
	}
	return fmt.Appendf(nil, `{"hidden":%q,"tool":%q,"call":%q}`, p.Phase, p.Tool, p.CallID), nil
}
