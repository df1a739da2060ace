package report

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

// Plots writes one SVG for every group that compares something: a bar for each row's ratio, and a mark where its gate is.
func (r *Run) Plots(dir string) error {
	byGroup := map[string][]Row{}
	var order []string
	for _, row := range r.Rows {
		if row.Than == "" || row.Ratio() == 0 {
			continue
		}
		if byGroup[row.Group] == nil {
			order = append(order, row.Group)
		}
		byGroup[row.Group] = append(byGroup[row.Group], row)
	}
	for i, group := range order {
		name := fmt.Sprintf("%02d-%s.svg", i+1, fileName(group))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(plot(group, byGroup[group])), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fileName(group string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(group)), "-")
}

const (
	labelWidth = 470
	barWidth   = 420
	rowHeight  = 22
)

// plot draws the bars. The scale is linear and ends at the largest ratio or gate.
func plot(title string, rows []Row) string {
	most := 1.0
	for _, r := range rows {
		most = max(most, r.Ratio())
		if r.Target != nil && !r.Target.Absolute {
			most = max(most, r.Target.Gate)
		}
	}
	at := func(ratio float64) float64 { return labelWidth + ratio/most*barWidth }
	var b strings.Builder
	height := rowHeight*(len(rows)+2) + 8
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", labelWidth+barWidth+80, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="8" y="18" font-size="14" font-weight="bold">%s</text>`+"\n", html.EscapeString(title))
	for i, r := range rows {
		y := float64(rowHeight*(i+1) + 14)
		colour := map[string]string{Stretch: "#2c7a4b", Met: "#4a7fb5", NotMet: "#b5483c", "": "#8a8f98"}[r.Verdict()]
		fmt.Fprintf(&b, `<text x="%d" y="%.0f" text-anchor="end">%s / %s</text>`, labelWidth-8, y+12, html.EscapeString(r.Name), html.EscapeString(r.Than))
		fmt.Fprintf(&b, `<rect x="%d" y="%.0f" width="%.1f" height="14" fill="%s"/><text x="%.1f" y="%.0f">%s</text>`, labelWidth, y, at(r.Ratio())-labelWidth, colour, at(r.Ratio())+4, y+12, number(r.Ratio()))
		if r.Target != nil && !r.Target.Absolute {
			fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1[1]f" y1="%.0f" y2="%.0f" stroke="black" stroke-width="2"/>`, at(r.Target.Gate), y-2, y+16)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1[1]f" y1="30" y2="%d" stroke="#555" stroke-dasharray="3 3"/><text x="%.1f" y="%d" fill="#555">1</text>`+"\n</svg>\n", at(1), height-8, at(1)+3, height-4)
	return b.String()
}
