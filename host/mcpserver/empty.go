package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// emptyMember is the member of a list that is there and has nothing in it: a server of tools has no prompts and resources, and
// many clients ask for them whatever it declares.
func emptyMember(method string) (member string, ok bool) {
	switch method {
	case "prompts/list":
		return "prompts", true
	case "resources/list":
		return "resources", true
	case "resources/templates/list":
		return "resourceTemplates", true
	}
	return "", false
}

// receiveEmpty answers what is about prompts and resources: there are none.
func (s *Server) receiveEmpty(method string, req mcp.Request) (mcp.Result, error) {
	e := eraOfRequest(req)
	if name, is := emptyMember(method); is {
		m := rawjson.Object{{name, rawjson.Array(nil)}}
		if e == project.Modern {
			m = append(m, rawjson.Member{"ttlMs", rawjson.Encode(listTTL)}, rawjson.Member{"cacheScope", rawjson.Quote("private")})
		}
		return s.finish(m.Raw(), e), nil
	}
	fault := &jsonrpc.Error{Code: codeInvalidParams, Message: method + ": there is no such thing: this server has tools only"}
	if p, ok := req.GetParams().(*mcp.ReadResourceParams); ok && p != nil {
		fault.Data = rawjson.Encode(map[string]string{"uri": p.URI})
		if e == project.Legacy {
			fault.Code = codeNoResource
		}
	}
	return nil, fault
}
