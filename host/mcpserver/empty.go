package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// receiveEmpty answers what is about prompts and resources: there are none. Many clients ask for them, whatever a server declares.
func (s *Server) receiveEmpty(method string, req mcp.Request) (mcp.Result, error) {
	e := eraOfRequest(req)
	switch method {
	case "prompts/list":
		return s.finishList("prompts", rawjson.Array(nil), e), nil
	case "resources/list":
		return s.finishList("resources", rawjson.Array(nil), e), nil
	case "resources/templates/list":
		return s.finishList("resourceTemplates", rawjson.Array(nil), e), nil
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
