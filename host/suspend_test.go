//go:build unix

package host_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// suspended makes a call that must wait, and returns what it waits for.
func suspended(t testing.TB, h *host.Host, c host.Call) host.Suspension {
	t.Helper()
	res, err := h.Call(t.Context(), c)
	e := wantError(t, res, err, host.Suspended, outcomeOf(err))
	s, ok := errors.AsType[*host.SuspendedError](e)
	if !ok {
		t.Fatalf("no suspension in %v", e)
	}
	// It survives JSON.
	b, err := json.Marshal(s.Suspension)
	if err != nil {
		t.Fatal(err)
	}
	var again host.Suspension
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

func outcomeOf(err error) host.Outcome {
	if e, ok := errors.AsType[*host.Error](err); ok {
		return e.Outcome
	}
	return host.Unknown
}

func answer(t testing.TB, h *host.Host, c host.Call, code host.Code, reason string) {
	t.Helper()
	res, err := h.Call(t.Context(), c)
	e := wantError(t, res, err, code, outcomeOf(err))
	if r, ok := errors.AsType[*host.ResumeError](e); reason != "" && (!ok || r.Reason != reason) {
		t.Errorf("got %v, want reason %s", e, reason)
	}
}

func effect(path string) host.Call {
	return host.Call{Tool: "approved", Input: json.RawMessage(`{"text":"` + path + `"}`)}
}

func TestAP_ApprovedRunsOnceInAnotherHost(t *testing.T) {
	state, marker := t.TempDir(), filepath.Join(t.TempDir(), "effects")
	h := open(t, host.Config{StateDir: state})
	s := suspended(t, h, effect(marker))
	h.Close()

	h = open(t, host.Config{StateDir: state})
	res, err := h.Call(t.Context(), s.Approve())
	if err != nil || string(res.Output) != `"done"` {
		t.Fatalf("got %+v, %v", res, err)
	}
	answer(t, h, s.Approve(), host.AlreadyDecided, "spent")
	answer(t, h, s.Deny("late"), host.AlreadyDecided, "spent")
	wantFile(t, marker, "once\n")
}

func TestAP13_DeniedNeverRuns(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "effects")
	h := open(t, host.Config{StateDir: stateDir(t)})
	s := suspended(t, h, effect(marker))
	answer(t, h, s.Deny("no"), host.Denied, "")
	answer(t, h, s.Approve(), host.AlreadyDecided, "spent")
	wantFile(t, marker, "")
}

func TestAP_AChangedFieldIsRefusedAndNothingRuns(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "effects")
	h := open(t, host.Config{StateDir: stateDir(t)})
	s := suspended(t, h, effect(marker))
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		changed := s
		f := reflect.ValueOf(&changed).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Struct:
			f.Set(reflect.ValueOf(s.Expires.Add(time.Hour)))
		case reflect.Slice:
			switch b := f.Interface().(type) {
			case json.RawMessage:
				if b == nil {
					b = json.RawMessage(`{"":0}`)
				}
				f.Set(reflect.ValueOf(json.RawMessage(strings.Replace(string(b), `"`, `"x`, 1))))
			case []byte:
				b = append([]byte(nil), b...)
				b[len(b)/2] ^= 1
				f.Set(reflect.ValueOf(b))
			case []string:
				f.Set(reflect.ValueOf(append([]string{"x"}, b...)))
			}
		}
		t.Run(name, func(t *testing.T) {
			res, err := h.Call(t.Context(), changed.Approve())
			if code, _ := host.CodeOf(err); code != host.InvalidResume && !(name == "Tool" && code == host.NotFound) {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	wantFile(t, marker, "")
	if _, err := h.Call(t.Context(), s.Approve()); err != nil {
		t.Errorf("the unchanged one: %v", err)
	}
}

func TestAP_ApprovedTwiceAtOnceRunsOnce(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "effects")
	h := open(t, host.Config{StateDir: stateDir(t)})
	s := suspended(t, h, effect(marker))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { h.Call(t.Context(), s.Approve()) }) // ends with its call
	}
	all.Wait()
	wantFile(t, marker, "once\n")
}

func TestT33_ModelFacingChannelsCannotAnswer(t *testing.T) {
	h := open(t, host.Config{StateDir: stateDir(t)})
	s := suspended(t, h, effect("/nowhere"))
	for _, channel := range []string{"mcp", "provider"} {
		c := s.Approve()
		c.Caller.Channel = channel
		answer(t, h, c, host.InvalidResume, "foreign")
	}
	c := s.Approve()
	c.Caller.Tenant = "other"
	answer(t, h, c, host.InvalidResume, "foreign")
	answer(t, h, s.Resume(json.RawMessage(`1`)), host.InvalidResume, "wrong_kind")
	other := open(t, host.Config{StateDir: stateDir(t)})
	answer(t, other, s.Approve(), host.InvalidResume, "foreign")
}

func TestSU_SuspendManyTimesAcrossHosts(t *testing.T) {
	state := stateDir(t)
	call := host.Call{Tool: "survey", Input: json.RawMessage(`{"n":2}`)}
	h := open(t, host.Config{StateDir: state})
	s := suspended(t, h, call)
	if s.Kind != host.KindData || string(s.Display) != `{"question":1}` {
		t.Errorf("first round: %+v", s)
	}
	answer(t, h, s.Resume(json.RawMessage(`"not a number"`)), host.InvalidResume, "") // b25
	h.Close()

	h = open(t, host.Config{StateDir: state})
	second := suspended(t, h, s.Resume(json.RawMessage(`40`)))
	if second.ID == s.ID || second.CallID != s.CallID || string(second.Display) != `{"question":2}` {
		t.Errorf("second round: %+v", second)
	}
	answer(t, h, s.Resume(json.RawMessage(`40`)), host.AlreadyDecided, "spent")
	res, err := h.Call(t.Context(), second.Resume(json.RawMessage(`0`)))
	if err != nil || string(res.Output) != `{"answer":0,"round":2}` {
		t.Errorf("got %+v, %v", res, err)
	}
	if waiting, err := h.Pending(); err != nil || len(waiting) != 0 {
		t.Errorf("pending: %+v, %v", waiting, err)
	}
}

func TestT24_WhatChangedSinceIsAskedAnew(t *testing.T) {
	state := stateDir(t)
	h := open(t, host.Config{StateDir: state})
	s := suspended(t, h, effect("/nowhere"))
	h.Close()
	h = open(t, host.Config{StateDir: state, Policy: host.Policy{Rules: []host.Rule{{Action: host.Ask, Tool: "approved"}}}})
	again := suspended(t, h, s.Approve())
	if len(again.Reasons) != 1 || again.Reasons[0] != "the policy changed since it was approved" {
		t.Errorf("reasons %q", again.Reasons)
	}
}

func TestPending_ListsWhatWaits(t *testing.T) {
	h := open(t, host.Config{StateDir: stateDir(t)})
	s := suspended(t, h, effect("/nowhere"))
	waiting, err := h.Pending()
	if err != nil || len(waiting) != 1 || waiting[0].ID != s.ID {
		t.Errorf("got %+v, %v", waiting, err)
	}
}
