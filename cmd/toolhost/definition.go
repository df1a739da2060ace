package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
)

// definition is what describe shows. For people: the lines, then every member of the value that no line says, as JSON under
// its heading, so that nothing is left out. With --json: the value.
type definition struct {
	value any
	lines [][2]string // a name and a text; an empty text is not shown
	said  []string    // the members of value that the lines say
}

// timedTool is a tool with what its own JSON leaves out.
type timedTool struct {
	host.Tool
	Timeout string `json:"timeout,omitempty"`
}

func toolDefinition(t host.Tool) definition {
	v := timedTool{Tool: t}
	if t.Timeout > 0 {
		v.Timeout = t.Timeout.String()
	}
	id, concurrency, mode, strict := "", "", "", ""
	if t.ID != t.Name {
		id = t.ID
	}
	if t.MaxConcurrency > 0 {
		concurrency = fmt.Sprint(t.MaxConcurrency)
	}
	if t.OutputMode != host.OutputReject {
		mode = t.OutputMode.String()
	}
	if t.Strict != nil {
		strict = map[bool]string{true: "yes", false: "no"}[*t.Strict]
	}
	words := hints(t.Annotations)
	if t.Idempotent {
		words = strings.TrimPrefix(words+", may be repeated after an unknown outcome", ", ")
	}
	return definition{
		value: v,
		lines: [][2]string{
			{"name", t.Name},
			{"plugin", t.Plugin},
			{"id", id},
			{"title", t.Title},
			{"MCP title", t.Annotations.Title},
			{"description", t.Description},
			{"hints", words},
			{"approval", approvalWords(t)},
			{"wants", strings.Join(contextKeys(t.RequestContextSchema), ", ")},
			{"timeout", v.Timeout},
			{"concurrency", concurrency},
			{"strict", strict},
			{"output mode", mode},
			{"callbacks", strings.Join(t.Callbacks, ", ")},
		},
		said: []string{
			"name", "plugin", "id", "title", "description", "annotations", "idempotent", "requireApproval", "timeout",
			"maxConcurrency", "strict", "outputMode", "callbacks",
		},
	}
}

// approvalWords says when a call of the tool waits for a person, as far as the tool says.
func approvalWords(t host.Tool) string {
	byInput := slices.Contains(t.Callbacks, "needsApproval")
	switch {
	case t.RequireApproval:
		return "every call asks"
	case byInput:
		return "the tool's function decides by the input"
	}
	return ""
}

// contextKeys names what the tool gets of the request context (T41).
func contextKeys(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var keys []string
	for name := range s.Properties {
		keys = append(keys, "context "+oneLine(name))
	}
	slices.Sort(keys)
	return keys
}

// pluginDefinition is a plugin's; server is what it imports, or nil.
func pluginDefinition(p host.PluginStatus, server *serverInfo) definition {
	pid, next, restarts, imports, env := "", "", "", "", ""
	if server != nil {
		imports, env = server.String(), words(slices.Concat(server.Env, server.Headers))
	}
	if p.PID > 0 {
		pid = fmt.Sprint(p.PID)
	}
	if p.Restarts > 0 {
		restarts = fmt.Sprint(p.Restarts)
	}
	if !p.NextStart.IsZero() {
		next = p.NextStart.Local().Format(time.DateTime)
	}
	manifest := ""
	if m := manifestOf(p); m != nil {
		manifest = m.text(time.Now())
	}
	return definition{
		value: struct {
			host.PluginStatus
			Server *serverInfo `json:"server,omitempty"`
		}{p, server},
		lines: [][2]string{
			{"name", p.Name}, {"MCP server", imports}, {"with", env}, {"path", p.Path}, {"state", string(p.State)}, {"pid", pid}, {"SDK", p.SDK}, {"version", p.Version},
			{"tools", strings.Join(p.Tools, ", ")}, {"manifest", manifest}, {"restarts", restarts}, {"error", p.Error}, {"next start", next},
			{"uncovered", strings.Join(p.Uncovered, ", ")},
		},
		said: []string{"name", "server", "path", "state", "pid", "sdk", "version", "tools", "manifest", "knownSince", "dynamic", "restarts", "error", "nextStart", "uncovered"},
	}
}

// describe writes the definition.
func (a *app) describe(d definition) error {
	if a.json {
		return writeJSON(a.out, d.value)
	}
	var b strings.Builder
	for _, l := range d.lines {
		if text := strings.TrimSpace(l[1]); text != "" {
			fmt.Fprintf(&b, "%-12s %s\n", l[0], strings.ReplaceAll(text, "\n", "\n             "))
		}
	}
	if _, err := a.out.Write([]byte(b.String())); err != nil {
		return err
	}
	rest, err := members(d.value)
	if err != nil {
		return err
	}
	for _, m := range rest {
		if slices.Contains(d.said, m.name) {
			continue
		}
		if err := a.part(heading(m.name), m.value); err != nil {
			return err
		}
	}
	return nil
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of v's JSON form in their order.
func members(v any) ([]member, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var all []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// headings are those members whose names do not say enough.
var headings = map[string]string{
	"requestContextSchema": "context schema", "inputExamples": "examples", "_meta": "MCP _meta", "extra": "MCP extra", "badTools": "refused tools",
	"noRepairs": "repairs that are off",
}

// heading turns the name of a member into words: outputSchema is "output schema".
func heading(name string) string {
	if h, ok := headings[name]; ok {
		return h
	}
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteString(" " + strings.ToLower(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// part writes one JSON document under a heading.
func (a *app) part(name string, text json.RawMessage) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if _, err := fmt.Fprintf(a.out, "\n%s\n", name); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("  ")
	if err := json.Indent(&b, text, "  ", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	return a.out.JSON(b.Bytes())
}
