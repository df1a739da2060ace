package host

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/host/internal/state"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// round is what came before a call that is resumed.
type round struct {
	sealed
	suspension Suspension
	answer     verdict
	spent      bool // this host spent the suspension
}

// approved reports whether a person approved the call, now or in an earlier round.
func (r *round) approved() bool { return r != nil && (r.Approved || r.answer.approve) }

// reopen checks the suspension that the call answers and restores the call from it.
func (r *run) reopen() error {
	re := r.call.resume
	if re == nil {
		return nil
	}
	private, err := r.host.unseal(re.suspension)
	if err != nil {
		return r.refuse(err)
	}
	if err := r.mayAnswer(private, re); err != nil {
		return r.refuse(err)
	}
	r.round = &round{sealed: private, suspension: re.suspension, answer: re.decision}
	r.call.Input, r.call.Context, r.call.Messages = private.Input, private.Context, private.Messages
	if rec, ok, err := r.host.state.Spent(re.suspension.ID); err != nil {
		return r.fail(Internal, NotStarted, err)
	} else if ok {
		return r.spentError(rec)
	}
	if re.decision.deny {
		if err := r.spend(state.Denied); err != nil {
			return err
		}
		reason := re.decision.reason
		if reason == "" {
			reason = "no reason given"
		}
		return r.fail(Denied, NotStarted, fmt.Errorf("refused by the person asked: %s", reason))
	}
	return r.checkAnswer(re)
}

// mayAnswer refuses an answer of the wrong kind or from the wrong party.
func (r *run) mayAnswer(private sealed, re *resumption) error {
	s, d := re.suspension, re.decision
	switch {
	case s.Tool != r.call.Tool || s.CallID != r.call.ID:
		return &ResumeError{"foreign", errors.New("it belongs to another call")}
	case private.Caller.Tenant != r.call.Caller.Tenant:
		return &ResumeError{"foreign", errors.New("it belongs to another tenant")}
	case modelFacing(r.call.Caller.Channel) && !r.call.Person:
		return &ResumeError{"foreign", fmt.Errorf("the channel %q carries the model's words, and a model cannot answer for a person", r.call.Caller.Channel)}
	case d.approve && s.Kind != KindApproval:
		return &ResumeError{"wrong_kind", errors.New("it wants data, not an approval")}
	case d.hasData && s.Kind != KindData:
		return &ResumeError{"wrong_kind", errors.New("it wants an approval, not data")}
	}
	return nil
}

// modelFacing reports channels on which the party that is restrained speaks (T28, T33).
func modelFacing(channel string) bool { return channel == "mcp" || channel == "provider" }

// checkAnswer holds the data against the schema; data that breaks it leaves the suspension as it is (b25).
func (r *run) checkAnswer(re *resumption) error {
	if !re.decision.hasData {
		return nil
	}
	lim := r.entry.plugin.lim
	doc, err := schema.Parse(re.decision.data, lim.document(lim.Input))
	if err == nil {
		r.entry.resume.FillDefaults(doc)
		err = r.entry.resume.Validate(doc)
	}
	if err != nil {
		return r.breaks(InvalidResume, NotStarted, err)
	}
	r.round.answer.data = doc.Bytes()
	return nil
}

// reconsider drops the reasons that a person has approved already, unless something changed since (T24).
func (r *run) reconsider() {
	if !r.round.approved() {
		return
	}
	r.reasons = nil
	for _, c := range []struct {
		what string
		same bool
	}{
		{"the input", string(r.input.Bytes()) == string(r.round.Input)},
		{"the tool's definition", r.entry.hash == r.round.Tool},
		{"the plugin", r.entry.program() == r.round.Program},
		{"the policy", r.host.rules.Digest() == r.round.Rules},
	} {
		if !c.same {
			r.ask(c.what + " changed since it was approved")
		}
	}
}

// spend uses the suspension up. It happens before the tool is told to run.
func (r *run) spend(decision string) error {
	if r.round == nil || r.round.spent {
		return nil
	}
	s := r.round.suspension
	err := r.host.state.Spend(s.ID, state.Record{Decision: decision, Expires: s.Expires})
	if spent, ok := errors.AsType[*state.SpentError](err); ok {
		return r.spentError(spent.First)
	}
	if err != nil {
		return r.fail(Internal, NotStarted, err)
	}
	r.round.spent = true
	if err := r.host.state.DropPending(s.ID); err != nil {
		r.host.log.Warn("pending call", "id", s.ID, "error", err)
	}
	return nil
}

// spendForRun is spend for an answer that lets the tool run.
func (r *run) spendForRun() error {
	if r.round != nil && r.round.answer.hasData {
		return r.spend(state.Resumed)
	}
	return r.spend(state.Approved)
}

func (r *run) spentError(first state.Record) *Error {
	return r.fail(AlreadyDecided, NotStarted, &ResumeError{"spent",
		fmt.Errorf("it was %s at %s; the outcome: %s", first.Decision, first.At.Format(time.RFC3339), first.Outcome)})
}

// recordOutcome completes the ledger's entry of a suspension that this call used.
func (r *run) recordOutcome(err error) {
	if r.round == nil || !r.round.spent {
		return
	}
	word := Done.String()
	if e, ok := errors.AsType[*Error](err); ok {
		if word = e.Outcome.String(); e.Code == Suspended || e.Code == Denied {
			word = e.Code.String()
		}
	}
	if err := r.host.state.SetOutcome(r.round.suspension.ID, word); err != nil {
		r.host.log.Warn("spent suspension", "id", r.round.suspension.ID, "error", err)
	}
}

func (r *run) refuse(err error) *Error { return r.fail(InvalidResume, NotStarted, err) }

// suspending is what a call waits for.
type suspending struct {
	kind    Kind
	payload json.RawMessage // the tool's
	byTool  bool            // the tool asks for the approval while it runs (AP-16)
	made    []*pb.DerivedView
}

// suspend makes the error of a call that waits.
func (r *run) suspend(ctx context.Context, w suspending) *Error {
	outcome := NotStarted
	if w.payload != nil || w.byTool {
		outcome = Failed // it ran, and gave no result
	}
	s, err := r.suspension(w)
	if _, full := errors.AsType[*state.ThrottledError](err); full {
		return r.fail(Busy, outcome, err)
	}
	if err != nil {
		return r.fail(Internal, outcome, err)
	}
	return r.fail(Suspended, outcome, &SuspendedError{Suspension: s})
}

func (r *run) suspension(w suspending) (Suspension, error) {
	now, err := r.host.state.Clock()
	if err != nil {
		return Suspension{}, err
	}
	s := Suspension{
		ID: rand.Text(), CallID: r.call.ID, Tool: r.call.Tool, Plugin: r.entry.tool.Plugin, Title: r.entry.tool.Title,
		Kind: w.kind, Reasons: r.reasons, Expires: now.Add(r.entry.plugin.lim.Suspension).UTC().Truncate(time.Second),
	}
	private := sealed{
		Input: r.input.Bytes(), Context: r.call.Context, Messages: r.call.Messages, Payload: w.payload,
		Approved: r.round.approved() && len(r.reasons) == 0, AskedBy: w.byTool,
		Caller: r.call.Caller, Rules: r.host.rules.Digest(), Tool: r.entry.hash, Program: r.entry.program(),
	}
	if r.round != nil {
		private.Round = r.round.Round + 1
		private.Caller = r.round.Caller
	}
	switch {
	case w.kind == KindData:
		s.Display, s.Schema = r.personForm(PhaseSuspend, w.payload, w.made), r.entry.tool.ResumeSchema
	case w.byTool && w.payload != nil:
		s.Display = r.personForm(PhaseSuspend, w.payload, w.made)
	default:
		s.Display = r.personForm(PhaseApproval, r.input.Bytes(), w.made)
	}
	if err := r.host.seal(&s, private); err != nil {
		return s, err
	}
	return s, r.host.keep(s, private.Caller)
}

// seal encrypts the private part and binds the visible one to it.
func (h *Host) seal(s *Suspension, private sealed) error {
	keys, err := h.keys()
	if err != nil {
		return err
	}
	plain, err := json.Marshal(private)
	if err != nil {
		return err
	}
	visible, err := s.visible()
	if err != nil {
		return err
	}
	s.Sealed, err = keys.Seal(plain, visible)
	return err
}

// unseal is the reverse. The error is a *ResumeError.
func (h *Host) unseal(s Suspension) (sealed, error) {
	var private sealed
	keys, err := h.keys()
	if err != nil {
		return private, err
	}
	visible, err := s.visible()
	if err != nil {
		return private, &ResumeError{"tampered", err}
	}
	plain, err := keys.Open(s.Sealed, visible)
	if _, unknown := errors.AsType[*state.UnknownKeyError](err); unknown {
		return private, &ResumeError{"foreign", fmt.Errorf("it was made by another host, or its key is gone: %w", err)}
	}
	if err == nil {
		err = json.Unmarshal(plain, &private)
	}
	if err != nil {
		return private, &ResumeError{"tampered", err}
	}
	now, err := h.state.Clock()
	if err != nil {
		return private, err
	}
	if now.After(s.Expires) {
		return private, &ResumeError{"expired", fmt.Errorf("it expired at %s", s.Expires.Format(time.RFC3339))}
	}
	return private, nil
}

// keep lists the suspension among what waits.
func (h *Host) keep(s Suspension, who Caller) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return h.state.PutPending(state.Entry{ID: s.ID, Caller: who.Tenant + "/" + who.Subject, Body: body, Expires: s.Expires})
}

// Pending lists the suspensions that wait for an answer, newest first. The error is an *Error.
func (h *Host) Pending() ([]Suspension, error) {
	entries, damaged, err := h.state.Pending()
	if err != nil {
		return nil, &Error{Op: "pending", Code: Internal, Err: err}
	}
	for _, d := range damaged {
		h.log.Warn("pending call", "error", d)
	}
	var all []Suspension
	for _, e := range entries {
		var s Suspension
		if err := json.Unmarshal(e.Body, &s); err != nil {
			h.log.Warn("pending call", "id", e.ID, "error", err)
			continue
		}
		all = append(all, s)
	}
	return all, nil
}

// keys opens the suspension keys at their first use.
func (h *Host) keys() (*state.Keyring, error) {
	h.keyM.Lock()
	defer h.keyM.Unlock()
	if h.ring == nil {
		ring, err := h.state.Keys(h.cfg.Keys)
		if err != nil {
			return nil, err
		}
		h.ring = ring
	}
	return h.ring, nil
}
