package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// session is one connection to a server after the handshake.
type session struct {
	*peer
	agreement
	began time.Time
}

// params gives a request what its era wants in _meta, beside own.
func (s *session) params(members, own map[string]json.RawMessage) func(int64) json.RawMessage {
	return func(id int64) json.RawMessage {
		meta := map[string]json.RawMessage{}
		maps.Copy(meta, own)
		if s.modern {
			maps.Copy(meta, metaOf(s.version))
		}
		meta["progressToken"] = json.RawMessage(strconv.FormatInt(id, 10)) // always: servers that are asked for none say nothing for long (R37)
		return withMeta(members, meta)
	}
}

// send is a request of the connection's era.
func (s *session) send(ctx context.Context, r rpc) (json.RawMessage, error) {
	if s.modern {
		r.modern = s.version
	}
	return s.request(ctx, r)
}

// How often a server may ask back in one call, and how often it may only say that it wants to be asked again.
const (
	maxRounds = 16
	maxBusy   = 3
	busyPause = 500 * time.Millisecond
)

// callTool calls a tool. A server of the modern era may answer with questions: then it is called again with the answers and with its state as it
// was (SEP-2322).
func (s *session) callTool(ctx context.Context, rc *remoteCall) (json.RawMessage, error) {
	members := map[string]json.RawMessage{"name": rawjson.Quote(rc.name), "arguments": rc.arguments}
	if len(rc.arguments) == 0 {
		members["arguments"] = json.RawMessage("{}")
	}
	var own map[string]json.RawMessage
	if len(rc.meta) > 0 {
		if err := json.Unmarshal(rc.meta, &own); err != nil {
			return nil, fmt.Errorf("_meta of the call is no object: %w", err)
		}
	}
	if s.modern && rc.log != nil {
		own = maps.Clone(own)
		if own == nil {
			own = map[string]json.RawMessage{}
		}
		own[metaPrefix+"logLevel"] = json.RawMessage(`"info"`)
	}
	for rounds, busy := 0, 0; ; rounds++ {
		raw, err := s.send(ctx, rpc{
			method: "tools/call", name: rc.name, args: rc.arguments, call: rc, params: s.params(members, own),
		})
		if err != nil || !s.modern {
			return raw, err
		}
		in, err := readInput(raw)
		if in == nil {
			return raw, err
		}
		if len(in.list) == 0 {
			if busy++; busy > maxBusy {
				return nil, &rpcError{code: codeInternal, message: "the server asks to be called again and again, without a question"}
			}
			if err := pause(ctx, busyPause); err != nil {
				return nil, err
			}
		}
		if rounds >= maxRounds {
			return nil, &rpcError{code: codeInternal, message: fmt.Sprintf("the server asked back more than %d times", maxRounds)}
		}
		if err := in.answer(ctx, rc, members); err != nil {
			return nil, err
		}
	}
}

// input is what a server wants to know before it goes on.
type input struct {
	names []string
	list  []question
	state json.RawMessage // its own, opaque
}

// readInput is nil if the result is a final one.
func readInput(raw json.RawMessage) (*input, error) {
	var r map[string]json.RawMessage
	if json.Unmarshal(raw, &r) != nil || string(r["resultType"]) != `"input_required"` {
		return nil, nil //nolint:nilnil // a final result needs nothing
	}
	in := &input{state: r["requestState"]}
	if string(in.state) == "null" {
		in.state = nil
	}
	var asked map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if q := r["inputRequests"]; q != nil {
		if err := json.Unmarshal(q, &asked); err != nil {
			return nil, &rpcError{code: codeInternal, message: "the server's questions are of an odd form: " + err.Error()}
		}
	}
	for name, q := range asked {
		if !isQuestion(q.Method) {
			return nil, &rpcError{code: codeMethod, message: fmt.Sprintf("the server asks %q, which is not known here", runes.Cut(q.Method, 100))}
		}
		in.names, in.list = append(in.names, name), append(in.list, question{q.Method, q.Params})
	}
	return in, nil
}

// answer asks whoever made the call, and puts the answers and the state into the next request's members.
func (in *input) answer(ctx context.Context, rc *remoteCall, members map[string]json.RawMessage) error {
	delete(members, "inputResponses")
	delete(members, "requestState")
	if in.state != nil {
		members["requestState"] = in.state
	}
	if len(in.list) == 0 {
		return nil
	}
	answers, err := rc.answers(ctx, in.list)
	if err != nil {
		return err
	}
	all := map[string]json.RawMessage{}
	for i, name := range in.names {
		all[name] = answers[i]
	}
	members["inputResponses"] = rawjson.Encode(all)
	return nil
}

// pause waits for d, or returns the cause of ctx's end.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
