package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// settings are one block of what people have as mcpServers: a command, or a URL.
type settings struct {
	Type    string            `json:"type,omitempty" jsonschema_description:"stdio or http (also streamable-http). It follows from command or url."`
	Command string            `json:"command,omitempty" jsonschema_description:"The program that speaks MCP on its standard streams."`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"writeOnly=true" jsonschema_description:"Variables of that program and of nothing else."`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty" jsonschema_description:"The endpoint of a server that speaks streamable HTTP."`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"writeOnly=true" jsonschema_description:"Headers of every request, such as Authorization."`
	Era     string            `json:"era,omitempty" jsonschema:"enum=auto,enum=legacy,enum=modern" jsonschema_description:"The protocol era. If left out, the server is asked."`
	Timeout string            `json:"timeout,omitempty" jsonschema_description:"How long connecting and listing may take, such as 20s. If left out, 60s; and a host that does not know the tools yet waits 5s for them."`

	// What the operator says of the server's tools, whatever the server says.
	Output     string   `json:"output,omitempty" jsonschema:"enum=reject,enum=off" jsonschema_description:"What becomes of a result that breaks the tool's output schema, or has no structuredContent although there is one: reject, which is the default, fails the call; off takes the tools as if they had no output schemas."`
	Idempotent []string `json:"idempotent,omitempty" jsonschema_description:"Names of tools, as the server has them, that may be called again when it is not known whether a call did anything."`
}

const (
	defaultTimeout  = time.Minute
	defaultPatience = 5 * time.Second // the first list of a host that does not know the tools
)

// check says what of the settings cannot be, and where. It quotes no value that may be a secret.
func (s settings) check() error {
	fault := func(at, format string, args ...any) error {
		return fmt.Errorf("settings: at /%s: %s", at, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Command == "" && s.URL == "":
		return errors.New("settings: neither command nor url: name the program that is the server, or where it is reached")
	case s.Command != "" && s.URL != "":
		return fault("url", "a command and a url: keep one of them")
	}
	stdio := s.Command != ""
	switch {
	case s.Type == "sse":
		return fault("type", "sse is the transport that MCP gave up in 2025; take the URL at which the server speaks streamable HTTP")
	case s.Type != "" && s.Type != "stdio" && s.Type != "http" && s.Type != "streamable-http" && s.Type != "streamableHttp":
		return fault("type", "%q: want stdio or http", s.Type)
	case s.Type == "stdio" && !stdio:
		return fault("type", "stdio is for a command")
	case s.Type != "" && s.Type != "stdio" && stdio:
		return fault("type", "%s is for a url", s.Type)
	}
	if stdio {
		if err := s.checkProcess(fault); err != nil {
			return err
		}
	} else if err := s.checkHTTP(fault); err != nil {
		return err
	}
	switch s.Era {
	case "", "auto", "legacy", "modern":
	default:
		return fault("era", "%q: want auto, legacy or modern", s.Era)
	}
	if s.Timeout != "" {
		if d, err := time.ParseDuration(s.Timeout); err != nil || d <= 0 {
			return fault("timeout", "%q is no positive duration such as 20s", s.Timeout)
		}
	}
	if s.Output != "" && s.Output != "reject" && s.Output != "off" {
		return fault("output", "%q: want reject or off", s.Output)
	}
	return nil
}

func (s settings) checkProcess(fault func(at, format string, args ...any) error) error {
	if len(s.Headers) > 0 {
		return fault("headers", "is for a url; a command gets variables in env")
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fault("env", "%q: a name without = and a value, neither with NUL", name)
		}
	}
	if strings.ContainsRune(s.Command+strings.Join(s.Args, "")+s.Cwd, 0) {
		return fault("command", "a NUL character in it, in args or in cwd")
	}
	return nil
}

func (s settings) checkHTTP(fault func(at, format string, args ...any) error) error {
	switch {
	case len(s.Args) > 0:
		return fault("args", "is for a command")
	case len(s.Env) > 0:
		return fault("env", "is for a command; a url gets headers")
	case s.Cwd != "":
		return fault("cwd", "is for a command")
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fault("url", "no http or https URL such as https://example.com/mcp")
	case u.User != nil:
		return fault("url", "a name or password in the URL, which messages show: send it in headers")
	case u.Fragment != "":
		return fault("url", "a fragment (#) never reaches the server: leave it out")
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isToken(r) }) {
			return fault("headers", "%q is no name of a header", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fault("headers", "the value of %s has a control character", name)
		}
	}
	return nil
}

// isToken reports whether a header's name may have r.
func isToken(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// timeout is how long connecting and listing may take.
func (s settings) timeout() time.Duration {
	if d, err := time.ParseDuration(s.Timeout); err == nil && d > 0 {
		return d
	}
	return defaultTimeout
}

// patience is how long the first list may keep a host that does not know the tools, and would list others' (R32).
func (s settings) patience() time.Duration {
	if s.Timeout == "" {
		return defaultPatience
	}
	return s.timeout() / 10 * 9 // less than what the server is given, so that one that is silent is not one that failed
}

// place is where the server is, for messages: the command or the URL, without what may be secret.
func (s settings) place() string {
	if s.Command != "" {
		return s.Command
	}
	return urlName(s.URL)
}
