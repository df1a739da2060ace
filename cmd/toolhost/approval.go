package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/toolhost/toolhost/host"
)

// approval is a question to a person whether a call may run. Its text is the host's; what a plugin says is indented, quoted
// and labelled (T13).
type approval struct {
	waiting     host.Suspension
	digest      string   // of the plugin's program, in short; "" if it has none
	words       []string // the plugin's own, a line each
	hints       string   // what the plugin says that the tool does
	destructive bool     // by the plugin's own word
	shown       []string // what is decided on: canonical JSON, a line each
}

const (
	maxWords   = 10 // lines of the plugin's own words
	fewest     = 5  // lines of arguments that are shown however small the terminal is
	lineIndent = 4
)

// askedByTool is the reason that the host gives for an approval that the tool asks for while it runs: then the plugin
// chose what is shown, and it is not the arguments.
const askedByTool = "the tool asks while it runs"

// newApproval gathers what the person must see.
func (j *job) newApproval(s host.Suspension) (*approval, error) {
	display := s.Display
	if len(display) == 0 {
		display = json.RawMessage("null")
	}
	text, err := canonical(display)
	if err != nil {
		return nil, fmt.Errorf("what would be shown is no JSON: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	p := &approval{waiting: s, shown: strings.Split(string(escape(b.Bytes(), jsonNotation)), "\n")}
	if t, ok := j.host.Tool(s.Tool); ok {
		p.hints = hints(t.Annotations)
		p.destructive = t.Annotations.Destructive != nil && *t.Annotations.Destructive
		p.words = quotedLines(t.Title, t.Description)
	}
	for plugin := range j.host.Plugins() {
		if plugin.Name != s.Plugin || plugin.Path == "" {
			continue
		}
		if hash, err := hashFile(plugin.Path); err == nil { // it may be executed and not read
			p.digest = hash[:12]
		}
	}
	return p, nil
}

func quotedLines(texts ...string) []string {
	var lines []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			lines = append(lines, strings.Split(escapeText(strings.ReplaceAll(t, "\t", " ")), "\n")...)
		}
	}
	return lines
}

// ask asks on the terminal whether the call may run.
func (j *job) ask(ctx context.Context, s host.Suspension) (yes bool, err error) {
	p, err := j.newApproval(s)
	if err != nil {
		return false, err
	}
	d := j.terminal()
	j.alone(d, func() { yes, err = p.put(ctx, d) })
	return yes, err
}

// put asks until there is an answer. Whatever is no clear yes is a no.
func (p *approval) put(ctx context.Context, d *device) (bool, error) {
	columns, rows := d.size()
	text, hidden := p.text(columns, rows)
	for first := true; ; first = false {
		if !first {
			text = ""
		}
		missing, prompt := p.question(hidden)
		answer, err := d.line(ctx, text+missing, prompt)
		if err != nil {
			return false, err
		}
		answer = strings.TrimSpace(answer)
		yes := answer == p.waiting.Tool && p.destructive || !p.destructive && isYes(answer)
		switch {
		case strings.EqualFold(answer, "v"):
			hidden = 0
			if _, err := d.screen.Write([]byte(p.everything(columns))); err != nil {
				return false, errNobody
			}
		case yes && hidden > 0, p.destructive && isYes(answer):
			// asked again: the question says what is missing
		default:
			return yes, nil
		}
	}
}

func isYes(answer string) bool {
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

// question is what comes last: what the person has not seen in full, hidden lines of the arguments, and the prompt.
func (p *approval) question(hidden int) (missing, prompt string) {
	if hidden > 0 {
		lines := "lines"
		if hidden == 1 {
			lines = "line"
		}
		missing = fmt.Sprintf("%d %s not shown in full: type v first\n", hidden, lines)
	}
	if p.destructive {
		return missing, fmt.Sprintf("It destroys. Type %s to approve, anything else to refuse: ", oneLine(p.waiting.Tool))
	}
	return missing, "Approve? [y/N/v] "
}

// text is everything above the question, for a terminal of this size. hidden is how many lines of the arguments are cut or
// left out.
func (p *approval) text(columns, rows int) (text string, hidden int) {
	var b strings.Builder
	b.WriteString("toolhost: a call needs your approval\n")
	p.writeWords(&b, columns)
	p.writeFacts(&b, columns)
	fmt.Fprintf(&b, "  %s\n", p.label())
	room := max(fewest, rows-strings.Count(b.String(), "\n")-3) // the question takes up to 3 lines
	width := max(minimum, columns-lineIndent)
	for i, line := range p.shown {
		if i == room {
			left := len(p.shown) - i
			fmt.Fprintf(&b, "    …(+%d lines)\n", left)
			return b.String(), hidden + left
		}
		if short := clip(line, width); short != line {
			hidden++
			line = short
		}
		b.WriteString("    " + line + "\n")
	}
	return b.String(), hidden
}

// everything is the arguments in full.
func (p *approval) everything(columns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s, in full\n", p.label())
	for _, line := range p.shown {
		for _, part := range fold(line, max(minimum, columns-lineIndent)) {
			b.WriteString("    " + part + "\n")
		}
	}
	p.writeFacts(&b, columns)
	return b.String()
}

func (p *approval) label() string {
	if slices.Contains(p.waiting.Reasons, askedByTool) {
		return fmt.Sprintf("what plugin %s shows", oneLine(p.waiting.Plugin))
	}
	return "arguments"
}

// writeWords writes what the plugin says of the tool.
func (p *approval) writeWords(b *strings.Builder, columns int) {
	if len(p.words) == 0 {
		return
	}
	fmt.Fprintf(b, "  plugin %s says of the tool:\n", p.plugin())
	var lines []string
	for _, w := range p.words {
		lines = append(lines, fold(w, max(minimum, columns-lineIndent-2))...)
	}
	for i, line := range lines {
		if i == maxWords-1 && len(lines) > maxWords {
			line = fmt.Sprintf("…(+%d lines)", len(lines)-i)
		}
		b.WriteString("    > " + line + "\n")
		if i == maxWords-1 {
			return
		}
	}
}

func (p *approval) plugin() string {
	if p.digest == "" {
		return oneLine(p.waiting.Plugin)
	}
	return fmt.Sprintf("%s (%s)", oneLine(p.waiting.Plugin), p.digest)
}

// writeFacts writes what the host knows.
func (p *approval) writeFacts(b *strings.Builder, columns int) {
	fact := func(name, value string) {
		for i, part := range fold(value, max(minimum, columns-12)) {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(b, "  %-9s %s\n", name, part)
		}
	}
	fact("tool", oneLine(p.waiting.Tool))
	fact("plugin", p.plugin())
	if p.hints != "" {
		fact("it says", p.hints)
	}
	for _, reason := range p.waiting.Reasons {
		fact("because", oneLine(reason))
	}
	fact("hash", shortHash(p.waiting))
}

// fold breaks a line into parts of at most width columns. Nothing is left out.
func fold(line string, width int) []string {
	var parts []string
	var part strings.Builder
	used := 0
	for state, rest := -1, line; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > width && used > 0 {
			parts = append(parts, part.String())
			part.Reset()
			used = 0
		}
		part.WriteString(cluster)
		used += w
	}
	return append(parts, part.String())
}
