package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// maxMarks is how many combining marks of one character are shown (T11).
const maxMarks = 8

// writeTable writes rows as aligned columns. On a terminal no line is wider than it: the last column is cut.
// Cells are one line each. Rows have the length of head.
func writeTable(out *terminal, head []string, rows [][]string) error {
	cells := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{head}, rows...) {
		line := make([]string, len(row))
		for i, cell := range row {
			line[i] = strings.Join(strings.Fields(cell), " ")
			if out.tty {
				line[i] = escapeText(line[i])
			}
		}
		cells = append(cells, line)
	}
	widths := columnWidths(cells, out.columns())
	var b strings.Builder
	for _, line := range cells {
		for i, cell := range line {
			if widths[i] > 0 {
				cell = clip(cell, widths[i])
			}
			b.WriteString(cell)
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-uniseg.StringWidth(cell))+gap))
			}
		}
		b.WriteByte('\n')
	}
	_, err := out.Write([]byte(trimLines(b.String())))
	return err
}

const (
	gap     = 2  // spaces between columns
	minimum = 10 // columns that the last column keeps
	share   = 3  // a column takes at most 1/share of the line, but the last
)

// columnWidths gives every column the width of its widest cell, within total (0: no limit). The last column
// gets what is left; without a limit its width is 0, for any.
func columnWidths(cells [][]string, total int) []int {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	last := len(widths) - 1
	if total == 0 {
		widths[last] = 0
		return widths
	}
	left := total
	most := max(minimum, min(total/share, (total-minimum)/max(1, last)-gap))
	for i := range last {
		widths[i] = min(widths[i], most)
		left -= widths[i] + gap
	}
	widths[last] = max(minimum, left)
	return widths
}

// clip returns s in at most width columns, with at most maxMarks combining marks a character. What is cut is
// counted at its end: "lorem ip…(+23)", in characters.
func clip(s string, width int) string {
	s = thin(s)
	if uniseg.StringWidth(s) <= width {
		return s
	}
	total := uniseg.GraphemeClusterCount(s)
	longest := uniseg.StringWidth(fmt.Sprintf("…(+%d)", total))
	var kept strings.Builder
	used, count := 0, 0
	for state, rest := -1, s; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > width-longest {
			break
		}
		kept.WriteString(cluster)
		used += w
		count++
	}
	return fmt.Sprintf("%s…(+%d)", kept.String(), total-count)
}

// thin drops the combining marks of a character beyond maxMarks.
func thin(s string) string {
	var b strings.Builder
	for state, rest := -1, s; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		marks := 0
		for _, r := range cluster {
			if unicode.Is(unicode.M, r) {
				if marks++; marks > maxMarks {
					continue
				}
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// trimLines drops the blanks at the ends of lines.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
