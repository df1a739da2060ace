// Requirements prints what toolhost promises, one numbered requirement after the other, with the tests that prove it
// and what they said just now. The table is requirements.txt; it is read from the top of the repository:
//
//	go run ./internal/requirements          runs the tests; ends with 1 if anything is missing, failed or skipped
//	LIST=1 go run ./internal/requirements   only prints the table
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
)

//go:embed requirements.txt
var text string

// groups are the ids that the table must hold. Each group has its own letters.
var groups = []group{
	{"plugin hosts", "H1-6 L1-15 K1-14 C1-14 O1-7 M1-8 S1-12 D1-10 P1-3 A1-4"},
	{"MCP", "R1-43"},
}

func main() {
	if err := run(os.Stdout, ".", os.Getenv("LIST") != ""); err != nil {
		fmt.Fprintln(os.Stderr, "requirements:", err)
		os.Exit(1)
	}
}

// run prints the table, after it ran the tests unless list is set. An error says that the table is not as it should be,
// or how many requirements are not shown.
func run(w io.Writer, root string, list bool) error {
	all, err := parse(text)
	if err != nil {
		return err
	}
	if err := check(all, groups, root); err != nil {
		return err
	}
	if list {
		for _, r := range all {
			r.print(w, "")
		}
		fmt.Fprintf(w, "%d requirements, %d with tests\n", len(all), count(all, func(r requirement) bool { return len(r.tests) > 0 }))
		return nil
	}
	results, err := runTests(all, root, os.Stderr)
	if err != nil {
		return err
	}
	return report(w, all, results)
}

// report prints every requirement with its result, the counts last.
func report(w io.Writer, all []requirement, results map[test]result) error {
	var n [4]int
	for _, r := range all {
		v, notes := r.verdict(results)
		n[v]++
		r.print(w, v.String())
		for _, note := range notes {
			fmt.Fprintf(w, "%16s%s\n", "", note)
		}
	}
	fmt.Fprintf(w, "%d requirements: %d ok, %d skipped, %d not shown here, %d FAILED\n", len(all), n[passed], n[skipped], n[unshown], n[failed])
	if n[failed] > 0 {
		return fmt.Errorf("%d of %d requirements are not shown", n[failed], len(all))
	}
	return nil
}
