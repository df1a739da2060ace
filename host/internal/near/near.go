// Package near finds the names that a person may have meant who wrote another one.
package near

import (
	"cmp"
	"slices"
	"strings"
)

// Names returns at most three of among that resemble name, nearest first and then by name. Letter case does
// not count. A name resembles another if one holds the other, which has at least 3 bytes, or if few bytes
// differ: 1 in a name of less than 4 bytes, 2 in one of less than 9, else a third of it. Only the first 64
// bytes are compared.
func Names(name string, among []string) []string {
	most := max(2, len(name)/3)
	if len(name) < 4 {
		most = 1
	}
	type hit struct {
		name     string
		distance int
	}
	var hits []hit
	low := strings.ToLower(name)
	for _, n := range among {
		other := strings.ToLower(n)
		d := distance(low, other)
		if min(len(low), len(other)) >= 3 && (strings.Contains(other, low) || strings.Contains(low, other)) {
			d = min(d, most)
		}
		if d <= most {
			hits = append(hits, hit{n, d})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, h := range hits[:min(3, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// distance is the Levenshtein distance in bytes, of texts cut to 64.
func distance(a, b string) int {
	a, b = a[:min(64, len(a))], b[:min(64, len(b))]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
