package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Run is one run of the benchmarks.
type Run struct {
	Time     time.Time         `json:"time"`
	Machine  string            `json:"machine"`  // processor, cores, system
	Versions map[string]string `json:"versions"` // of what was compared
	Quick    bool              `json:"quick,omitempty"`
	Rows     []Row             `json:"rows"`
}

// Missed counts the rows whose gate does not hold.
func (r *Run) Missed() int {
	n := 0
	for _, row := range r.Rows {
		if row.Verdict() == NotMet {
			n++
		}
	}
	return n
}

// legend is how a table of rows is read.
const legend = "In the column \"gate / stretch\" the gate is a ratio that must hold, and stretch a harder one that is aimed at: ≤ for times, CPU and memory, " +
	"≥ for rates. Behind it stands which of them the row meets. A row without a gate is there to be known."

// Print writes the rows as one table.
func (r *Run) Print(w io.Writer) {
	defer fmt.Fprintf(w, "\nColumns: what, measured, against, that, ratio, gate / stretch. %s\n", legend)
	group := ""
	for _, row := range r.Rows {
		if row.Group != group {
			group = row.Group
			fmt.Fprintf(w, "\n%s\n", group)
		}
		fmt.Fprintf(w, "  %-44s %12s %-9s", row.Name, number(row.Value), row.Unit)
		if row.Than != "" {
			fmt.Fprintf(w, " %-28s %12s  ratio %-7s", row.Than, number(row.Other), number(row.Ratio()))
		}
		if row.Target != nil {
			fmt.Fprintf(w, " %-16s %s", row.Target.Want(), row.Verdict())
		}
		fmt.Fprintln(w)
	}
}

// Markdown writes the run as a document.
func (r *Run) Markdown(w io.Writer) {
	fmt.Fprintf(w, "# A run of `make bench`, %s\n\n%s.\n\n%s\n", r.Time.UTC().Format("2006-01-02 15:04"), r.Machine, legend)
	group := ""
	for _, row := range r.Rows {
		if row.Group != group {
			group = row.Group
			fmt.Fprintf(w, "\n## %s\n\n| what | measured | against | that | ratio | gate / stretch | |\n|---|--:|---|--:|--:|---|---|\n", group)
		}
		cells := []string{row.Name, number(row.Value) + " " + row.Unit, row.Than, "", "", row.Target.Want(), row.Verdict()}
		if row.Than != "" {
			cells[3], cells[4] = number(row.Other)+" "+row.Unit, number(row.Ratio())
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// number prints three figures, and whole numbers as they are.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
