package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/runes"
)

// Bounds of a list of tools (R13).
const (
	maxPages = 100
	maxTools = 10_000
)

// listTools follows the server's pages. Each tool is as the server wrote it; what is no object is left out and told in warnings (R5).
func (s *session) listTools(ctx context.Context) (tools []json.RawMessage, warnings []string, err error) {
	warnings = s.link.remarks()
	seen := map[string]bool{}
	size := 0
	var cursor json.RawMessage // nil: the first page. "" is a cursor like another
	for page := 1; ; page++ {
		members := map[string]json.RawMessage{}
		if cursor != nil {
			members["cursor"] = cursor
		}
		raw, err := s.send(ctx, rpc{method: "tools/list", params: s.params(members, nil)})
		if e, ok := errors.AsType[*rpcError](err); ok && e.code == codeMethod && page == 1 {
			return nil, append(warnings, "the server has no tools: it does not know tools/list"), nil
		}
		if err != nil {
			return nil, warnings, err
		}
		var r map[string]json.RawMessage
		var entries []json.RawMessage
		if json.Unmarshal(raw, &r) != nil || json.Unmarshal(r["tools"], &entries) != nil {
			return nil, warnings, &rpcError{code: codeInternal, message: "tools/list: the answer has no list of tools: " + runes.Cut(string(raw), 200)}
		}
		for i, entry := range entries {
			if warning := s.entry(entry); warning != "" {
				warnings = append(warnings, fmt.Sprintf("entry %d of page %d of the tools: %s", i+1, page, warning))
				continue
			}
			size += len(entry)
			if len(tools) == maxTools || size > maxMessage {
				return tools, append(warnings, fmt.Sprintf("the list of tools ends after %d tools: the server has more than are taken", len(tools))), nil
			}
			tools = append(tools, entry)
		}
		cursor = r["nextCursor"]
		if cursor == nil || string(cursor) == "null" {
			return tools, warnings, nil
		}
		if seen[string(cursor)] {
			return tools, append(warnings, fmt.Sprintf("the list of tools ends after page %d: the server gave a cursor that it gave before: %s",
				page, runes.Cut(string(cursor), 100))), nil
		}
		seen[string(cursor)] = true
		if page == maxPages {
			return tools, append(warnings, fmt.Sprintf("the list of tools ends after %d pages: the server has more", maxPages)), nil
		}
	}
}

// entry says what is wrong with an entry of the list that nobody can make a tool of.
func (s *session) entry(raw json.RawMessage) (warning string) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return "it is no object: " + runes.Cut(string(raw), 100)
	}
	var tool map[string]json.RawMessage
	var name string
	if json.Unmarshal(raw, &tool) != nil || json.Unmarshal(tool["name"], &name) != nil || name == "" {
		return "it has no name: " + runes.Cut(string(raw), 200)
	}
	if !s.modern {
		return ""
	}
	return s.link.headersOf(name, tool["inputSchema"])
}
