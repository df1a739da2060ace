package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Load reads a run that was saved as JSON.
func Load(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// key is what makes a row of one run that of another.
type key struct{ group, name, than string }

// Judge compares runs: it writes the ratio and the verdict of every row that has a target, in each of them, as Markdown, and
// returns how many gates did not hold in two thirds of the runs. A row that a run does not have does not hold in it.
func Judge(w io.Writer, runs []*Run) int {
	rows := map[key][]Row{}
	var order []key
	for i, r := range runs {
		for _, row := range r.Rows {
			k := key{row.Group, row.Name, row.Than}
			if row.Target == nil {
				continue
			}
			if rows[k] == nil {
				rows[k] = make([]Row, len(runs))
				order = append(order, k)
			}
			rows[k][i] = row
		}
	}
	fmt.Fprintf(w, "| what | against | gate / stretch | %sgate held |\n|---|---|---|%s---|\n", strings.Repeat("run | ", len(runs)), strings.Repeat("---|", len(runs)))
	failed := 0
	for _, k := range order {
		cells := []string{k.group + ": " + k.name, k.than, ""}
		held := 0
		for _, row := range rows[k] {
			verdict := row.Verdict()
			if verdict == "" {
				cells = append(cells, "no such row")
				continue
			}
			cells[2] = row.Target.Want()
			cells = append(cells, number(row.judged())+" "+verdict)
			if verdict != NotMet {
				held++
			}
		}
		says := fmt.Sprintf("in %d of %d", held, len(runs))
		if 3*held < 2*len(runs) {
			failed++
			says = "**" + says + "**"
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(append(cells, says), " | "))
	}
	fmt.Fprintf(w, "\n%d of %d gates held in two runs out of three.\n", len(order)-failed, len(order))
	return failed
}
