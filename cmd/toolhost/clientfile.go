package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// clientFile is the configuration of an MCP client, as far as it speaks of servers.
type clientFile struct {
	path    string // absolute
	format  string // the member that holds the servers, such as mcpServers
	project string // the directory that the file is the project's of; empty: it is the user's
	servers []clientServer
	inputs  map[string]string // what a person is asked for by the client (VS Code): id -> description
}

// clientServer is one server of a client's file.
type clientServer struct {
	name string
	raw  json.RawMessage
}

// maxClientFile is the largest client's file that is read, in bytes. Some keep their history in it.
const maxClientFile = 64 << 20

// readClientFile reads a client's file. The error is a *usageError.
func readClientFile(path string) (*clientFile, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, usagef("import: %w", err)
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return nil, usagef("import %s: not a file", path)
	}
	text, err := readBounded(abs, maxClientFile)
	if err != nil {
		return nil, usagef("import: %w", err)
	}
	c := &clientFile{path: abs, project: projectOf(abs)}
	if err := c.parse(plainJSON(text)); err != nil {
		return nil, usagef("import %s: %w", path, err)
	}
	return c, nil
}

// projectOf is the directory that a file of a project belongs to: servers of such files start there. It is empty for a user's file.
func projectOf(path string) string {
	dir, file := filepath.Split(path)
	dir = filepath.Clean(dir)
	switch filepath.Base(dir) {
	case ".vscode", ".cursor", ".zed":
		if home := homeDir(); home == "" || filepath.Dir(dir) != home {
			return filepath.Dir(dir)
		}
	}
	if file == ".mcp.json" {
		return dir
	}
	return ""
}

// parse finds the servers in the text: mcpServers (Claude Desktop, Claude Code, Cursor and others), servers (VS Code), also below mcp
// (its settings), context_servers (Zed).
func (c *clientFile) parse(text []byte) error {
	var top map[string]json.RawMessage
	if err := decodeJSON(text, &top); err != nil {
		return err
	}
	if _, ok := top["mcp"]; ok && top["mcpServers"] == nil && top["servers"] == nil {
		var inner map[string]json.RawMessage
		if json.Unmarshal(top["mcp"], &inner) == nil && inner["servers"] != nil {
			top = inner
		}
	}
	for _, c.format = range []string{"mcpServers", "servers", "context_servers"} {
		if raw, ok := top[c.format]; ok {
			if err := c.collect(raw); err != nil {
				return fmt.Errorf("%s: %w", c.format, err)
			}
			return c.readInputs(top["inputs"])
		}
	}
	return errors.New("it has no mcpServers, servers or context_servers: not a file of a client that is known here")
}

// decodeJSON decodes one JSON object and says where a fault is.
func decodeJSON(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := text[:min(int(syntax.Offset), len(text))]
		return fmt.Errorf("line %d: no JSON: %w", bytes.Count(before, []byte("\n"))+1, err)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errors.New("no JSON object")
	}
	return err
}

// collect reads the servers, in the order of the file: of an object by name, or of an array of objects with a name (Continue).
func (c *clientFile) collect(raw json.RawMessage) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i, item := range list {
			var named struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(item, &named) != nil || named.Name == "" {
				return fmt.Errorf("entry %d has no name", i)
			}
			c.servers = append(c.servers, clientServer{named.Name, item})
		}
		return nil
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return errors.New("neither an object nor a list")
	}
	all, err := members(raw)
	for _, m := range all {
		if slices.ContainsFunc(c.servers, func(s clientServer) bool { return s.name == m.name }) {
			return fmt.Errorf("%q is there twice", m.name)
		}
		c.servers = append(c.servers, clientServer{m.name, m.value})
	}
	return err
}

func (c *clientFile) readInputs(raw json.RawMessage) error {
	var inputs []struct {
		ID          string `json:"id"`
		Description string `json:"description"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &inputs) != nil {
		return errors.New("inputs: not a list of inputs")
	}
	c.inputs = map[string]string{}
	for _, in := range inputs {
		c.inputs[in.ID] = in.Description
	}
	return nil
}

// envName makes the name of an environment variable of a text: api-key is API_KEY.
func envName(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, text)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
