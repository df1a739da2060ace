package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host"
)

// call makes one tools/call. The error is a *rpcError.
func (s *Server) call(ctx context.Context, r request) (reply, error) {
	tool, ok := s.listing(r.caller).find(r.name)
	if !ok {
		return reply{}, &rpcError{code: -32602, message: "unknown tool " + r.name}
	}
	res, err := s.host.Call(ctx, host.Call{Tool: tool.Name, Input: r.arguments, Caller: r.caller})
	text := ""
	if err != nil {
		text = err.Error()
	} else {
		text = string(res.Output)
	}
	out, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil})
	return reply{result: out}, nil
}
