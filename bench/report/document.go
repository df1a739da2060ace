package report

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

//go:embed performance.md.tmpl
var performance string

// Document writes docs/performance.md: what the rows of a whole run mean for who embeds the host. It is an error if the run has not
// all the rows that the document speaks of.
func (r *Run) Document(w io.Writer) error {
	t, err := template.New("performance.md").Option("missingkey=error").Funcs(template.FuncMap{
		"row": r.row, "table": r.table, "peers": r.peers, "spent": r.spent, "number": number,
		"value": func(row Row) string { return number(row.Value) + " " + row.Unit },
		"other": func(row Row) string { return number(row.Other) + " " + row.Unit },
		"ratio": func(row Row) string { return number(row.Ratio()) },
		"percent": func(part, whole float64) string {
			return number(100*part/whole) + " %"
		},
	}).Parse(performance)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// row finds the row of a group by its name and, where it is compared with several, by what. An empty than is the first.
func (r *Run) row(group, name, than string) (Row, error) {
	for _, row := range r.Rows {
		if row.Group == group && row.Name == name && (than == "" || row.Than == than) {
			return row, nil
		}
	}
	return Row{}, fmt.Errorf("the run has no row %q, %q, %q: the document is about a whole run", group, name, than)
}

// of are the rows of a group.
func (r *Run) of(group string) ([]Row, error) {
	var rows []Row
	for _, row := range r.Rows {
		if row.Group == group {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("the run has no group %q: the document is about a whole run", group)
	}
	return rows, nil
}

// table is a group as a table, without its targets.
func (r *Run) table(group string) (string, error) {
	rows, err := r.of(group)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| | measured | against | that | ratio |\n|---|--:|---|--:|--:|")
	for _, row := range rows {
		fmt.Fprintf(&b, "\n| %s | %s %s | %s | %s %s | %s |", row.Name, number(row.Value), row.Unit, row.Than, number(row.Other), row.Unit, number(row.Ratio()))
	}
	return b.String(), nil
}

// peers is the small call through every peer as one table: a line each.
func (r *Run) peers() (string, error) {
	const one, eight, many = "A small validated call, 1 in flight", "A small validated call, 8 in flight", "A small validated call, 64 in flight"
	const latency, rate, cpu = "latency, p50", "calls a second", "CPU of both processes for a call"
	rows, err := r.of(one)
	if err != nil {
		return "", err
	}
	names := []string{"toolhost"}
	for _, row := range rows {
		if row.Name == latency {
			names = append(names, row.Than)
		}
	}
	var b strings.Builder
	b.WriteString("| | p50, 1 in flight | calls/s, 8 in flight | calls/s, 64 in flight | CPU of a call, 64 in flight |\n|---|--:|--:|--:|--:|")
	for i, name := range names {
		fmt.Fprintf(&b, "\n| %s |", name)
		for _, cell := range [][2]string{{one, latency}, {eight, rate}, {many, rate}, {many, cpu}} {
			than := name
			if i == 0 {
				than = names[1]
			}
			row, err := r.row(cell[0], cell[1], than)
			if err != nil {
				return "", err
			}
			if i > 0 {
				row.Value = row.Other
			}
			fmt.Fprintf(&b, " %s |", strings.TrimSpace(number(row.Value)+" "+strings.TrimPrefix(row.Unit, "/s")))
		}
	}
	return b.String(), nil
}

// spent is where the time of a call goes: a line for each kind, a column for each process.
func (r *Run) spent(group string) (string, error) {
	rows, err := r.of(group)
	if err != nil {
		return "", err
	}
	by := map[string]map[string]Row{"host": {}, "plugin": {}}
	var kinds []string
	whole := rows[0].Other
	for _, row := range rows {
		process, kind, _ := strings.Cut(row.Name, ": ")
		if by[process] == nil {
			return "", fmt.Errorf("the row %q is of no process", row.Name)
		}
		by[process][kind] = row
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	var b strings.Builder
	b.WriteString("| | host | plugin | share of the call |\n|---|--:|--:|--:|")
	for _, kind := range kinds {
		host, plugin := by["host"][kind].Value, by["plugin"][kind].Value
		fmt.Fprintf(&b, "\n| %s | %s µs | %s µs | %.0f %% |", kind, number(host), number(plugin), 100*(host+plugin)/whole)
	}
	return b.String(), nil
}

// NotMet are the rows whose gates do not hold.
func (r *Run) NotMet() []Row {
	var rows []Row
	for _, row := range r.Rows {
		if row.Verdict() == NotMet {
			rows = append(rows, row)
		}
	}
	return rows
}
