package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Hook is a pair of functions around a call. Either may be nil. Config.Hooks run Before in their order and
// After in reverse; Call.Hooks nest inside. They run on every path to a tool (b1), and may be called
// concurrently.
type Hook struct {
	// Before runs with the validated input, before approval. It may change c.Input, which is validated
	// again, but not repaired. A result answers in the tool's place, as if the tool had returned its
	// Output. ErrDenied and ErrNeedsApproval, wrapped or not, deny and ask; any other error is the call's
	// . It runs again when a call is resumed.
	Before func(ctx context.Context, c *Call) (*Result, error)

	// After runs once per final outcome, also of a call that was refused before Before ran; a suspension is
	// none (b36). c.Input is the input as far as the call came. A result that it returns for a call that
	// succeeded takes the place of res: it is validated again and its other forms are made anew (b14). Its
	// own error is logged and changes nothing.
	After func(ctx context.Context, c Call, res *Result, err error) (*Result, error)
}

// ErrDenied, returned by Hook.Before, denies the call. Wrap it to give the reason: fmt.Errorf("not on
// Sundays: %w", host.ErrDenied).
var ErrDenied = errors.New("denied")

// ErrNeedsApproval, returned by Hook.Before, makes the call wait for an approval.
var ErrNeedsApproval = errors.New("an approval is needed")

// hooks are the call's hooks, outermost first.
func (r *run) hooks(yield func(Hook) bool) {
	for _, h := range r.host.cfg.Hooks {
		if !yield(h) {
			return
		}
	}
	for _, h := range r.call.Hooks {
		if !yield(h) {
			return
		}
	}
}

// before runs the Before hooks. It returns an answer in the tool's place, or nil.
func (r *run) before(ctx context.Context) (*Result, error) {
	for h := range r.hooks {
		if h.Before == nil {
			continue
		}
		was := r.call.Input
		answer, err := r.guardBefore(ctx, h)
		switch {
		case errors.Is(err, ErrNeedsApproval):
			r.ask("a hook asks: " + spoken(err, ErrNeedsApproval).Error())
		case errors.Is(err, ErrDenied):
			return nil, r.fail(Denied, NotStarted, spoken(err, ErrDenied))
		case err != nil:
			if e, ok := errors.AsType[*Error](err); ok {
				return nil, e
			}
			return nil, r.fail(Internal, NotStarted, fmt.Errorf("before hook: %w", err))
		case answer != nil:
			return answer, nil
		}
		if !bytes.Equal(was, r.call.Input) {
			if err := r.revalidate(); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// hookError is the error of a hook without the words of the sentinel at its end, which the host says anyway.
type hookError struct {
	text string
	err  error
}

func (e *hookError) Error() string { return e.text }
func (e *hookError) Unwrap() error { return e.err }

// spoken is err without the words of the sentinel that it ends with, if it says more than those.
func spoken(err, sentinel error) error {
	if text, ok := strings.CutSuffix(err.Error(), ": "+sentinel.Error()); ok {
		return &hookError{text, err}
	}
	return err
}

// guardBefore makes a panic an error. The hook gets a copy of the call whose id and tool cannot be changed.
func (r *run) guardBefore(ctx context.Context, h Hook) (answer *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	c := r.call
	answer, err = h.Before(ctx, &c)
	r.call.Input = c.Input
	return answer, err
}

// after runs the After hooks of a final outcome, innermost first.
func (r *run) after(ctx context.Context, res *Result, err error) (*Result, error) {
	var all []Hook
	for h := range r.hooks {
		if h.After != nil {
			all = append(all, h)
		}
	}
	changed := false
	for i := len(all) - 1; i >= 0; i-- {
		rewritten, herr := r.guardAfter(ctx, all[i], res, err)
		if herr != nil {
			r.host.log.Warn("after hook failed", "tool", r.call.Tool, "call", r.call.ID, "error", herr)
			continue
		}
		if rewritten == nil || err != nil || rewritten == res {
			continue
		}
		res, err = r.rewrite(res, rewritten)
		changed = true
	}
	if changed && err == nil {
		res = r.rederived(ctx, res)
	}
	return res, err
}

func (r *run) guardAfter(ctx context.Context, h Hook, res *Result, err error) (out *Result, herr error) {
	defer func() {
		if v := recover(); v != nil {
			herr = fmt.Errorf("panic: %v", v)
		}
	}()
	var copied *Result
	if res != nil {
		c := *res
		copied = &c
	}
	out, herr = h.After(ctx, r.call, copied, err)
	if out != nil && out == copied && bytes.Equal(out.Output, res.Output) {
		out = nil
	}
	return out, herr
}

// hasAfter reports whether an After hook may rewrite the output.
func (r *run) hasAfter() bool {
	for h := range r.hooks {
		if h.After != nil {
			return true
		}
	}
	return false
}
