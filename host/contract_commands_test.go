//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host"
)

// commands are the words of a script; testdata/contract/README.md describes them.
func commands() map[string]func(c *conversation, args string) error {
	return map[string]func(c *conversation, args string) error{
		"plugin": (*conversation).cmdPlugin, "trusted": (*conversation).cmdTrusted, "grant": (*conversation).cmdGrant,
		"early": (*conversation).cmdEarly, "rule": (*conversation).cmdRule, "default": (*conversation).cmdDefault,
		"hook": (*conversation).cmdHook, "transform": (*conversation).cmdTransform, "alias": (*conversation).cmdAlias,
		"limit": (*conversation).cmdLimit, "forget": (*conversation).cmdForget,

		"as": (*conversation).cmdAs, "context": (*conversation).cmdContext, "messages": (*conversation).cmdMessages,
		"active": (*conversation).cmdActive, "ask": (*conversation).cmdAsk, "view": (*conversation).cmdView,
		"callhook": (*conversation).cmdCallHook, "elicit": (*conversation).cmdElicit,

		"call": (*conversation).cmdCall, "direct": (*conversation).cmdDirect, "start": (*conversation).cmdStart,
		"stream": (*conversation).cmdStream, "delta": (*conversation).cmdDelta, "end": (*conversation).cmdEnd,
		"until": (*conversation).cmdUntil, "wait": (*conversation).cmdWait, "cancel": (*conversation).cmdCancel,
		"next": (*conversation).cmdNext, "turn": (*conversation).cmdTurn,
		"approve": (*conversation).cmdApprove, "deny": (*conversation).cmdDeny, "resume": (*conversation).cmdResume,
		"tamper": (*conversation).cmdTamper,

		"restart": (*conversation).cmdRestart, "kill": (*conversation).cmdKill,
		"show": (*conversation).cmdShow, "seen": (*conversation).cmdSeen, "tools": (*conversation).cmdTools,
		"describe": (*conversation).cmdDescribe, "plugins": (*conversation).cmdPlugins, "pending": (*conversation).cmdPending,
		"quiet": (*conversation).cmdQuiet, "await": (*conversation).cmdAwait,
		"log": (*conversation).cmdLog, "absent": (*conversation).cmdAbsent,
	}
}

// ---- the host

func (c *conversation) cmdPlugin(args string) error {
	name, kind, _ := strings.Cut(args, " ")
	c.plugins = slices.DeleteFunc(c.plugins, func(p host.Plugin) bool { return p.Name == name })
	c.addPlugin(name, kind)
	return nil
}

func (c *conversation) cmdTrusted(string) error { c.plugins[0].Trusted = true; return nil }

func (c *conversation) cmdGrant(what string) error {
	c.plugins[0].Grant.Messages = what == "messages"
	return nil
}

func (c *conversation) cmdEarly(word string) error {
	i := slices.Index([]string{"decided", "always", "never"}, word)
	if i < 0 {
		return errors.New("want decided, always or never")
	}
	c.cfg.Early = host.Early(i)
	return nil
}

func (c *conversation) cmdRule(args string) error {
	text, err := c.text(args)
	if err != nil {
		return err
	}
	var r host.Rule
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	c.cfg.Policy.Rules = append(c.cfg.Policy.Rules, r)
	return nil
}

func (c *conversation) cmdDefault(word string) error {
	return c.cfg.Policy.Default.UnmarshalText([]byte(word))
}

func (c *conversation) cmdHook(name string) error {
	h, err := c.hook(name)
	c.cfg.Hooks = append(c.cfg.Hooks, h)
	return err
}

func (c *conversation) cmdTransform(name string) error {
	t, ok := contractTransforms[name]
	if !ok {
		return errors.New("no such transform")
	}
	c.cfg.Transform = t
	return nil
}

func (c *conversation) cmdAlias(args string) error {
	name, target, _ := strings.Cut(args, " ")
	if c.cfg.Tools == nil {
		c.cfg.Tools = map[string]string{}
	}
	c.cfg.Tools[name] = target
	return nil
}

func (c *conversation) cmdLimit(args string) error {
	name, value, _ := strings.Cut(args, " ")
	f := reflect.ValueOf(&c.cfg.Limits).Elem().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
	if !f.IsValid() {
		return errors.New("no such limit")
	}
	if f.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(value)
		f.SetInt(int64(d))
		return err
	}
	n, err := strconv.Atoi(value)
	f.SetInt(int64(n))
	return err
}

// cmdForget drops the host's hooks, rules or transform, for the next restart.
func (c *conversation) cmdForget(what string) error {
	switch what {
	case "hooks":
		c.cfg.Hooks = nil
	case "callhooks":
		c.call.Hooks = nil
	case "rules":
		c.cfg.Policy = host.Policy{}
	case "transform":
		c.cfg.Transform = nil
	default:
		return errors.New("want hooks, callhooks, rules or transform")
	}
	return nil
}

// ---- the calls to come

func (c *conversation) cmdAs(args string) error {
	c.call.Caller = host.Caller{}
	return json.Unmarshal([]byte(args), &c.call.Caller)
}

func (c *conversation) cmdContext(args string) (err error) {
	args, err = c.text(args)
	c.call.Context = json.RawMessage(args)
	return err
}

func (c *conversation) cmdMessages(args string) (err error) {
	args, err = c.text(args)
	c.call.Messages = json.RawMessage(args)
	return err
}

func (c *conversation) cmdActive(args string) error {
	c.call.Active = strings.Fields(args)
	if args == "all" {
		c.call.Active = nil
	}
	return nil
}

func (c *conversation) cmdAsk(word string) error { c.call.Ask = word == "on"; return nil }

func (c *conversation) cmdView(word string) error {
	i := slices.Index([]string{"display", "transcript", "raw"}, word)
	if i < 0 {
		return errors.New("want display, transcript or raw")
	}
	c.call.View = host.View(i)
	return nil
}

func (c *conversation) cmdCallHook(name string) error {
	h, err := c.hook(name)
	c.call.Hooks = append(slices.Clone(c.call.Hooks), h)
	return err
}

func (c *conversation) cmdElicit(args string) error {
	action, content, _ := strings.Cut(args, " ")
	c.call.Elicit = nil
	if action != "none" {
		c.call.Elicit = c.elicit(action, content)
	}
	return nil
}

// ---- calls

// newCall reads ID TOOL [INPUT].
func (c *conversation) newCall(args string) (host.Call, error) {
	f := strings.SplitN(args, " ", 3)
	if len(f) < 2 {
		return host.Call{}, errors.New("want ID TOOL [INPUT]")
	}
	call := c.call
	call.ID, call.Tool, call.Input = f[0], f[1], json.RawMessage{}
	if len(f) == 3 {
		text, err := c.text(f[2])
		if err != nil {
			return call, err
		}
		call.Input = json.RawMessage(text)
	}
	return call, nil
}

func (c *conversation) cmdCall(args string) error {
	call, err := c.newCall(args)
	if err != nil {
		return err
	}
	return c.run(call)
}

// cmdDirect uses Host.Call, where nobody watches.
func (c *conversation) cmdDirect(args string) error {
	call, err := c.newCall(args)
	if err != nil {
		return err
	}
	res, err := c.host().Call(c.t.Context(), call)
	c.ended[call.ID] = outcome{res, err}
	if s, ok := errors.AsType[*host.SuspendedError](err); ok {
		c.waits[call.ID] = append(c.waits[call.ID], s.Suspension)
	}
	switch {
	case c.quiet:
		return nil
	case err != nil:
		c.sayJSON(call.ID+" error", err)
		return nil
	}
	return c.show(call.ID, "result")
}

func (c *conversation) cmdStart(args string) error {
	call, err := c.newCall(args)
	if err == nil {
		c.start(call)
	}
	return err
}

func (c *conversation) cmdStream(args string) error {
	call, err := c.newCall(args)
	call.Input = nil
	if err == nil {
		c.start(call)
	}
	return err
}

func (c *conversation) cmdDelta(args string) error {
	id, arg, _ := strings.Cut(args, " ")
	text, err := c.text(arg)
	if err != nil {
		return err
	}
	if c.live[id] == nil {
		return errors.New("no running call")
	}
	if err := c.live[id].running.Delta([]byte(text)); err != nil {
		c.say("%s delta refused: %v", id, err)
	}
	return nil
}

func (c *conversation) cmdEnd(id string) error {
	if c.live[id] == nil {
		return errors.New("no running call")
	}
	if err := c.live[id].running.EndInput(); err != nil {
		c.say("%s end refused: %v", id, err)
	}
	return c.until(id, "")
}

func (c *conversation) cmdUntil(args string) error {
	id, kind, _ := strings.Cut(args, " ")
	return c.until(id, kind)
}

func (c *conversation) cmdWait(id string) error { return c.until(id, "") }

func (c *conversation) cmdCancel(args string) error {
	id, why, _ := strings.Cut(args, " ")
	if c.live[id] == nil {
		return errors.New("no running call")
	}
	if why == "" {
		why = "changed my mind"
	}
	c.live[id].running.Cancel(errors.New(why))
	return nil
}

func (c *conversation) cmdNext(args string) error {
	call, err := c.newCall(args)
	c.turn = append(c.turn, call)
	return err
}

func (c *conversation) cmdTurn(string) error { c.runTurn(); return nil }

func (c *conversation) cmdApprove(ref string) error {
	return c.answer(ref, (*host.Suspension).Approve)
}

func (c *conversation) cmdDeny(args string) error {
	ref, reason, _ := strings.Cut(args, " ")
	return c.answer(ref, func(s *host.Suspension) host.Call { return s.Deny(reason) })
}

func (c *conversation) cmdResume(args string) error {
	ref, data, _ := strings.Cut(args, " ")
	data, err := c.text(data)
	if err != nil {
		return err
	}
	return c.answer(ref, func(s *host.Suspension) host.Call { return s.Resume(json.RawMessage(data)) })
}

// cmdTamper changes one field of a call's latest suspension: tamper ID FIELD JSON.
func (c *conversation) cmdTamper(args string) error {
	f := strings.SplitN(args, " ", 3)
	if len(f) != 3 {
		return errors.New("want ID FIELD JSON")
	}
	s, id, err := c.suspension(f[0])
	if err != nil {
		return err
	}
	s.Reasons, s.Display, s.Schema, s.Sealed = slices.Clone(s.Reasons), slices.Clone(s.Display), slices.Clone(s.Schema), slices.Clone(s.Sealed)
	if f[1] == "sealed" && f[2] == "flip" { // one bit
		s.Sealed[len(s.Sealed)-1] ^= 1
	} else if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", f[1], f[2]), &s); err != nil {
		return err
	}
	c.waits[id] = append(c.waits[id], s)
	return nil
}

// ---- the world

func (c *conversation) cmdRestart(string) error {
	if len(c.live) > 0 {
		return errors.New("calls are running")
	}
	c.close()
	return nil
}

// cmdKill ends the plugin's process and waits until the host knows.
func (c *conversation) cmdKill(string) error {
	pid := status(c.t, c.host()).PID
	if pid == 0 {
		return errors.New("the plugin does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	eventually(c.t, "the host knows of the killed plugin", func() bool { return status(c.t, c.host()).PID != pid })
	return nil
}

// ---- what to look at

func (c *conversation) cmdShow(args string) error {
	id, what, _ := strings.Cut(args, " ")
	return c.show(id, what)
}

func (c *conversation) cmdSeen(string) error {
	lines, err := c.seen()
	if len(lines) == 0 {
		c.say("seen nothing")
	}
	for _, l := range lines {
		c.say("seen %s", l)
	}
	return err
}

// cmdAwait waits until the tools got what this text says: a file that another process writes has no signal.
func (c *conversation) cmdAwait(text string) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		b, err := os.ReadFile(c.record)
		if err == nil && strings.Contains(string(b), text) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the tools never got %q; they got:\n%s", text, b)
		}
	}
}

func (c *conversation) cmdTools(string) error {
	for t := range c.host().Tools() {
		c.say("tool %s = %s/%s", t.Name, t.Plugin, t.ID)
	}
	return nil
}

// cmdDescribe prints a tool, or the fields that are named.
func (c *conversation) cmdDescribe(args string) error {
	f := strings.Fields(args)
	t, ok := c.host().Tool(f[0])
	if !ok {
		c.say("no tool %s", f[0])
		return nil
	}
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	all["timeout"] = fmt.Appendf(nil, "%q", t.Timeout)
	for _, name := range f[1:] {
		v, ok := all[name]
		if !ok {
			v = json.RawMessage("(absent)")
		}
		c.say("%s %s %s", f[0], name, v)
	}
	if len(f) == 1 {
		c.say("%s %s", f[0], b)
	}
	return nil
}

// cmdPlugins prints what the plugins serve, and what was refused.
func (c *conversation) cmdPlugins(string) error {
	for range c.host().Tools() {
		break
	}
	for p := range c.host().Plugins() {
		c.say("plugin %s serves %s", p.Name, strings.Join(p.Tools, " "))
		for _, b := range p.BadTools {
			c.say("plugin %s refused %s: %s", p.Name, b.ID, b.Reason)
		}
		if p.Error != "" {
			c.say("plugin %s error %s", p.Name, p.Error)
		}
	}
	return nil
}

func (c *conversation) cmdPending(string) error {
	all, err := c.host().Pending()
	if len(all) == 0 {
		c.say("pending nothing")
	}
	slices.SortFunc(all, func(a, b host.Suspension) int { return strings.Compare(a.CallID, b.CallID) })
	for _, s := range all {
		c.sayJSON("pending", s)
	}
	return err
}

func (c *conversation) cmdQuiet(word string) error { c.quiet = word == "on"; return nil }

// cmdLog prints the lines of the host's log that hold this text.
func (c *conversation) cmdLog(text string) error {
	none := true
	for line := range strings.Lines(c.log.String()) {
		if strings.Contains(line, text) {
			none = false
			c.say("log %s", line)
		}
	}
	if none {
		c.say("log holds no %q", text)
	}
	return nil
}

// cmdAbsent says where a text appears that should be nowhere: events, suspensions, what waits, the log.
func (c *conversation) cmdAbsent(text string) error {
	waits, err := json.Marshal(c.waits)
	if err != nil {
		return err
	}
	var where []string
	for _, p := range []struct{ name, all string }{
		{"events", c.shown.String()}, {"suspensions", string(waits)}, {"log", c.log.String()},
	} {
		if strings.Contains(p.all, text) {
			where = append(where, p.name)
		}
	}
	if where == nil {
		where = []string{"nowhere"}
	}
	c.say("%q appears in %s", text, strings.Join(where, ", "))
	return nil
}

// show prints one aspect of a call's outcome.
func (c *conversation) show(id, what string) error {
	if what == "suspension" {
		s, _, err := c.suspension(id)
		if err == nil {
			c.sayJSON(id+" suspension", s)
		}
		return err
	}
	o, ok := c.ended[id]
	if !ok {
		return fmt.Errorf("no call %q has ended", id)
	}
	if e, failed := errors.AsType[*host.Error](o.err); failed {
		return c.showError(id, what, e)
	}
	head := id + " " + what
	switch what {
	case "result":
		c.say("%s %s", head, orVoid(o.res.Output))
	case "display":
		c.say("%s %s", head, orVoid(o.res.Display))
	case "transcript":
		c.say("%s %s", head, orVoid(o.res.Transcript))
	case "model":
		c.sayJSON(head, o.res.Model)
	case "repairs":
		c.sayJSON(head, o.res.Repairs)
	case "warnings":
		c.sayJSON(head, o.res.Warnings)
	default:
		return fmt.Errorf("the call succeeded, and has no %s", what)
	}
	return nil
}

func (c *conversation) showError(id, what string, e *host.Error) error {
	head := id + " " + what
	switch what {
	case "error":
		c.sayJSON(head, e)
	case "model":
		c.sayJSON(head, e.Model())
	case "repairs":
		c.sayJSON(head, e.Repairs)
	case "violations":
		if s, ok := errors.AsType[*host.SchemaError](e); ok {
			for _, v := range s.Violations {
				c.sayJSON(id+" violation", v)
			}
			return nil
		}
		c.say("%s none", head)
	case "size": // what keeps an error small
		s, _ := errors.AsType[*host.SchemaError](e)
		c.say("%s %d violations, %d more, under 20 KiB: %v", head, len(s.Violations), s.More, len(e.Error()) < 20<<10)
	case "deadline":
		c.say("%s %v", head, errors.Is(e, context.DeadlineExceeded))
	default:
		return fmt.Errorf("the call failed, and has no %s: %w", what, e)
	}
	return nil
}

func orVoid(b []byte) string {
	if b == nil {
		return "(nothing)"
	}
	return string(b)
}
