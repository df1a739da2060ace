package config

import (
	"math"
	"time"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// Serve is the block serve: how toolhost mcp offers the tools. Its zero value is the default; flags win over it.
type Serve struct {
	Prefix         bool              // every tool is exported as plugin__id
	Profile        string            // "" or "strict-model"
	Instructions   string            // what a client is told about the server
	Approvals      []string          // transports whose clients may answer approvals: "stdio", "http". None: nobody there may (T28, T33)
	AllowedHosts   []string          // of the Host header, beside loopback names (R41)
	AllowedOrigins []string          // of the Origin header (R42)
	Tokens         map[string]string // who a caller is -> file that holds the bearer token; absolute or relative to the working directory
	Heartbeat      time.Duration     // the longest silence of a call towards a client that wants progress (R37); 0: the server's default
	Sessions       int               // at once over HTTP; 0: the server's default
	SessionIdle    time.Duration     // after which a session ends (R40); 0: the server's default
	NameBudget     int               // characters that clients put in front of a tool's name (R8); 0: the server's default; below: none
	Result         int               // bytes of one result (R23); 0: only the host's limit of an output holds
	Context        []string          // keys of a request's _meta that enter the call's request context (T36)
}

// serveJSON is the block as it is written.
type serveJSON struct {
	Prefix         bool              `json:"prefix"`
	Profile        string            `json:"profile"`
	Instructions   string            `json:"instructions"`
	Approvals      []string          `json:"approvals"`
	AllowedHosts   []string          `json:"allowedHosts"`
	AllowedOrigins []string          `json:"allowedOrigins"`
	Tokens         map[string]string `json:"tokens"`
	Heartbeat      any               `json:"heartbeat"`
	Sessions       int               `json:"sessions"`
	SessionIdle    any               `json:"sessionIdle"`
	NameBudget     *int              `json:"nameBudget"`
	Result         any               `json:"result"`
	Context        []string          `json:"context"`
}

func (d *decoder) serve(in serveJSON) Serve {
	out := Serve{
		Prefix: in.Prefix, Profile: in.Profile, Instructions: in.Instructions, Approvals: in.Approvals,
		AllowedHosts: in.AllowedHosts, AllowedOrigins: in.AllowedOrigins, Sessions: in.Sessions, Context: in.Context,
	}
	if in.NameBudget != nil {
		if out.NameBudget = *in.NameBudget; out.NameBudget == 0 {
			out.NameBudget = -1
		}
	}
	if in.Result != nil {
		n, err := size(in.Result, math.MaxInt32)
		if err != nil {
			d.fault("/serve/result", err.Error())
		}
		out.Result = int(n)
	}
	for name, file := range in.Tokens {
		path, err := d.path(file)
		if err != nil {
			d.fault("/serve/tokens/"+jsonpointer.Escape(name), err.Error())
			continue
		}
		if out.Tokens == nil {
			out.Tokens = map[string]string{}
		}
		out.Tokens[name] = path
	}
	for _, t := range []struct {
		key   string
		given any
		out   *time.Duration
	}{{"heartbeat", in.Heartbeat, &out.Heartbeat}, {"sessionIdle", in.SessionIdle, &out.SessionIdle}} {
		if t.given == nil {
			continue
		}
		n, err := duration(t.given)
		if err != nil {
			d.fault("/serve/"+t.key, err.Error())
		}
		*t.out = time.Duration(n)
	}
	return out
}
