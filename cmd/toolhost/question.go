package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// elicit puts the questions of a running tool to the person at the terminal; what only a program can answer, such as a message of a
// model, is declined. The time of the call stands still meanwhile.
func (j *job) elicit(limit *allowance, d *device, tool string) func(context.Context, host.Question) (host.Answer, error) {
	return func(ctx context.Context, q host.Question) (answer host.Answer, err error) {
		if q.Kind != "" && q.Kind != host.QuestionForm {
			return host.Answer{Action: "decline"}, nil
		}
		defer limit.pause()()
		plugin := ""
		if t, ok := j.host.Tool(tool); ok {
			plugin = t.Plugin
		}
		j.alone(d, func() { answer, err = putQuestion(ctx, d, plugin, tool, q) })
		if errors.Is(err, errNobody) {
			return host.Answer{Action: "cancel"}, nil
		}
		return answer, err
	}
}

// form is what of a question's schema can be asked field by field.
type form struct {
	Type       string           `json:"type"`
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required"`
}

// field is one field of a form.
type field struct {
	Type        any               `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Format      string            `json:"format"`
	Sensitive   bool              `json:"x-sensitive"`
	WriteOnly   bool              `json:"writeOnly"`
}

// putQuestion asks whether to answer at all, and then for each field.
func putQuestion(ctx context.Context, d *device, plugin, tool string, q host.Question) (host.Answer, error) {
	decline := host.Answer{Action: "decline"}
	columns, _ := d.size()
	head := questionText(plugin, tool, q, columns)
	var f form
	if len(q.Schema) > 0 && json.Unmarshal(q.Schema, &f) != nil {
		f = form{}
	}
	if name := f.secret(); name != "" {
		_, err := d.screen.Write([]byte(head + fmt.Sprintf("Declined: it asks for a secret (%s). Give secrets by the plugin's settings.\n", oneLine(name))))
		return decline, err
	}
	answer, err := d.line(ctx, head, "Answer? [y/N] ")
	if err != nil {
		return decline, err
	}
	if !isYes(strings.TrimSpace(answer)) {
		return decline, nil
	}
	content, err := f.ask(ctx, d, len(q.Schema) > 0)
	if err != nil {
		return decline, err
	}
	return host.Answer{Action: "accept", Content: content}, nil
}

// questionText is the host's template around the plugin's words.
func questionText(plugin, tool string, q host.Question, columns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "toolhost: the tool %s of plugin %s asks, in its own words:\n", oneLine(tool), oneLine(plugin))
	var lines []string
	for _, w := range quotedLines(q.Message) {
		lines = append(lines, fold(w, max(minimum, columns-lineIndent-2))...)
	}
	for i, line := range lines {
		if i == maxWords-1 && len(lines) > maxWords {
			fmt.Fprintf(&b, "    > …(+%d lines)\n", len(lines)-i)
			break
		}
		b.WriteString("    > " + line + "\n")
	}
	return b.String()
}

// secretName matches fields that ask for what no plugin may ask a person for (T32).
var secretName = regexp.MustCompile(`(?i)passw|passphrase|passcode|secret|token|api.?key|private.?key|credential|card.?(no|num)|credit.?card|` +
	`\bcvv|\bcvc|\bpin\b|\bssn\b|\biban\b|one.?time|\botp\b|seed.?phrase`)

// secret returns the field that looks like a secret; "" if none does.
func (f form) secret() string {
	for _, name := range f.names() {
		p := f.Properties[name]
		if p.Format == "password" || p.Sensitive || p.WriteOnly ||
			secretName.MatchString(name) || secretName.MatchString(p.Title) || secretName.MatchString(p.Description) {
			return name
		}
	}
	return ""
}

// names are the fields: the required ones first, in the order of the schema, then the others by name.
func (f form) names() []string {
	var names, rest []string
	for _, name := range f.Required {
		if _, ok := f.Properties[name]; ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for name := range f.Properties {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}

// ask asks for every field, or for the whole content as JSON if it is no plain form.
func (f form) ask(ctx context.Context, d *device, wanted bool) (json.RawMessage, error) {
	if !wanted {
		return nil, nil
	}
	if f.Type != "object" || len(f.Properties) == 0 {
		return askField(ctx, d, "  answer, as JSON", field{Type: "json"}, true)
	}
	content := map[string]json.RawMessage{}
	for _, name := range f.names() {
		value, err := askField(ctx, d, f.label(name), f.Properties[name], slices.Contains(f.Required, name))
		if err != nil {
			return nil, err
		}
		if value != nil {
			content[name] = value
		}
	}
	return json.Marshal(content)
}

// label is the line that asks for a field.
func (f form) label(name string) string {
	p := f.Properties[name]
	label := "  " + oneLine(name)
	if about := oneLine(strings.TrimSpace(p.Title + " " + p.Description)); about != "" {
		label += fmt.Sprintf(" (%q)", clip(about, 60))
	}
	if kind, ok := p.Type.(string); ok && kind != "string" {
		label += ", " + oneLine(kind)
	}
	if len(p.Enum) > 0 {
		var words []string
		for _, e := range p.Enum {
			words = append(words, oneLine(plain(e)))
		}
		label += ", one of " + strings.Join(words, " ")
	}
	switch {
	case p.Default != nil:
		label += fmt.Sprintf(" [%s]", oneLine(plain(p.Default)))
	case !slices.Contains(f.Required, name):
		label += " [none]"
	}
	return label
}

// askField asks until the text can be read. nil: the field is left out.
func askField(ctx context.Context, d *device, label string, p field, required bool) (json.RawMessage, error) {
	for {
		text, err := d.line(ctx, "", label+": ")
		if err != nil {
			return nil, err
		}
		if text == "" && (p.Default != nil || !required) {
			return p.Default, nil
		}
		value, err := p.read(text)
		if err == nil {
			return value, nil
		}
		if _, err := d.screen.Write([]byte("  " + err.Error() + "\n")); err != nil {
			return nil, errNobody
		}
	}
}

// read turns what was typed into the field's value. The host checks it against the whole schema.
func (p field) read(text string) (json.RawMessage, error) {
	if len(p.Enum) > 0 {
		for _, e := range p.Enum {
			if plain(e) == text {
				return e, nil
			}
		}
		return nil, errors.New("it is none of these")
	}
	switch p.Type {
	case "string":
		return json.Marshal(text)
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, errors.New("want yes or no")
	case "number", "integer":
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
			return nil, errors.New("want a number")
		}
	}
	if !json.Valid([]byte(text)) {
		return nil, errors.New("want JSON")
	}
	return json.RawMessage(text), nil
}

// plain is a JSON value as a person types it: a string without its quotes.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}
