package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/form"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
)

// suspended asks the client for what a call waits for, where the client can be asked and may decide it. Else the call
// answers that it waits.
func (c *calls) suspended(ctx context.Context, f *flight, r request, s host.Suspension) (json.RawMessage, error) {
	inq, err := c.inquireSuspension(f.tool, r, s)
	if err != nil {
		return waits(f.tool, s, err)
	}
	if r.era == project.Modern {
		return c.askLater(r, s, inq, "")
	}
	answer, err := r.put(ctx, inq)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return waits(f.tool, s, err)
	}
	return c.answered(ctx, r, f.tool, s, answer)
}

// askLater asks a modern client, whose answer comes with a later request. What waits survives that: it is in the
// host's state directory, and the sealed state names it.
func (c *calls) askLater(r request, s host.Suspension, inq *inquiry, remark string) (json.RawMessage, error) {
	state, err := c.sealer.seal(ticket{Suspension: s.ID, Expires: s.Expires.Unix()}, bound(r))
	if err != nil {
		return nil, err
	}
	q := &question{inquiry: inq, remark: remark}
	return inputRequired(inputRequests([]*question{q}), state), nil
}

// decide takes what a modern client brought for a suspended call.
func (c *calls) decide(ctx context.Context, r request, tool *exported, t ticket) (json.RawMessage, error) {
	s, ok, err := c.pending(t.Suspension)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, badState("what it belongs to was decided, or expired")
	}
	inq, err := c.inquireSuspension(tool, r, s)
	if err != nil {
		return waits(tool, s, err)
	}
	raw, ok := r.answers[inq.key]
	if !ok {
		return c.askLater(r, s, inq, "")
	}
	answer, err := inq.read(raw)
	if err != nil {
		return c.askLater(r, s, inq, err.Error())
	}
	return c.answered(ctx, r, tool, s, answer)
}

// pending finds what waits.
func (c *calls) pending(id string) (host.Suspension, bool, error) {
	all, err := c.host.Pending()
	if err != nil {
		c.log.Error("what waits cannot be read", "error", err)
		return host.Suspension{}, false, &rpcError{code: codeInternal, message: "tools/call: what waits cannot be read: see the server's log"}
	}
	for _, s := range all {
		if s.ID == id {
			return s, true, nil
		}
	}
	return host.Suspension{}, false, nil
}

// answered goes on with the call as the client's person said.
func (c *calls) answered(ctx context.Context, r request, tool *exported, s host.Suspension, a host.Answer) (json.RawMessage, error) {
	var call host.Call
	switch {
	case s.Kind == host.KindApproval && a.Action == "cancel":
		return waits(tool, s, errors.New("the person asked did not decide"))
	case s.Kind == host.KindApproval && a.Action == "accept" && approves(a.Content):
		call = s.Approve()
	case s.Kind == host.KindData && a.Action == "accept":
		call = s.Resume(a.Content)
	case a.Action == "cancel":
		call = s.Deny("cancelled by the user")
	default:
		call = s.Deny("declined by the user")
	}
	call.Person = true
	return c.run(ctx, newFlight(tool, r.caller), r, call)
}

// approves reports a yes. Accepting the form without one is none.
func approves(content json.RawMessage) bool {
	var a struct {
		Approve any `json:"approve"`
	}
	return json.Unmarshal(content, &a) == nil && a.Approve == true
}

// approveSchema is the form of an approval.
const approveSchema = `{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Yes lets the tool run with exactly these arguments."}},"required":["approve"]}`

// maxShown is how many bytes of arguments a client is asked to show.
const maxShown = 16 << 10

// inquireSuspension is what to ask of what a call waits for. The error says why the client is not asked.
func (c *calls) inquireSuspension(tool *exported, r request, s host.Suspension) (*inquiry, error) {
	approval := s.Kind == host.KindApproval
	switch {
	case approval && !c.cfg.Approvals.allow(r.caller.Channel):
		return nil, errors.New("clients may not decide it on this channel")
	case !r.can.form || r.era == project.Legacy && r.ask == nil:
		return nil, errors.New("the client cannot be asked by a form")
	case !approval && len(s.Schema) == 0:
		return nil, errors.New("the tool does not say what answer it wants")
	}
	display, whole := project.ForPerson(s.Display, maxShown)
	if approval {
		if !whole {
			return nil, fmt.Errorf("its arguments are longer than a client is asked to show (%d bytes)", maxShown)
		}
		f, err := form.New(json.RawMessage(approveSchema), false)
		if err != nil {
			return nil, err
		}
		return elicit(f, "approval", approvalText(tool, s, display)), nil
	}
	f, err := form.New(s.Schema, c.cfg.Secrets)
	if err != nil {
		return nil, err
	}
	if !whole {
		display = fmt.Sprintf("(%d bytes, too long to show)", len(s.Display))
	}
	text := fmt.Sprintf("The tool %s of plugin %s waits for an answer. It shows:\n%s", tool.ID, tool.Plugin, display)
	return elicit(f, "answer", text), nil
}

// approvalText is the host's own question (T13): what of it is the plugin's or the model's is marked so.
func approvalText(tool *exported, s host.Suspension, display string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "May the tool %s of plugin %s run?\n", tool.ID, tool.Plugin)
	if s.Title != "" {
		fmt.Fprintf(&b, "Its title, in the plugin's words: %q\n", project.Plain(strings.Join(strings.Fields(s.Title), " "), maxTitle))
	}
	for _, why := range s.Reasons {
		fmt.Fprintf(&b, "Asked because %s\n", project.Plain(why, maxReason))
	}
	fmt.Fprintf(&b, "Its arguments, as they will be used:\n%s\n", display)
	fmt.Fprintf(&b, "Approval %s, until %s.", s.ID, s.Expires.UTC().Format(time.RFC3339))
	return b.String()
}

// The bounds of what is shown of a plugin's title and of a reason, in bytes.
const (
	maxTitle  = 200
	maxReason = 2 << 10
)

// waits is the result of a call that somebody else has to decide.
func waits(tool *exported, s host.Suspension, why error) (json.RawMessage, error) {
	what, how := "an answer", fmt.Sprintf("toolhost resume %s --data JSON", s.ID)
	if s.Kind == host.KindApproval {
		what, how = "an approval", fmt.Sprintf("toolhost resume %s --approve, or --deny REASON", s.ID)
	}
	s.Sealed = nil // of no use to a client
	return project.Error(tool.Tool, &host.Error{Op: "call", Tool: s.Tool, Code: host.Suspended, Err: &waitError{
		&host.SuspendedError{Suspension: s},
		fmt.Sprintf("it waits for %s until %s; a person gives it by: %s, and gets the result (%v)", what, s.Expires.UTC().Format(time.RFC3339), how, why),
	}}), nil
}

// waitError says how a call that waits is decided.
type waitError struct {
	*host.SuspendedError
	text string
}

func (e *waitError) Error() string { return e.text }

func (e *waitError) Unwrap() error { return e.SuspendedError }
