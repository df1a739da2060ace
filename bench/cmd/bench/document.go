package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/bench/report"
)

// document writes the document about one run.
func document(path string, runs []string) error {
	if len(runs) != 1 {
		return errors.New("-doc wants the JSON of one run")
	}
	r, err := report.Load(runs[0])
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := r.Document(&text); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// judgeRuns says which gates held in two runs out of three.
func judgeRuns(paths []string) error {
	if len(paths) == 0 {
		return errors.New("-judge wants the JSON of some runs")
	}
	var runs []*report.Run
	for _, path := range paths {
		r, err := report.Load(path)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	if failed := report.Judge(os.Stdout, runs); failed > 0 {
		return fmt.Errorf("%d gates did not hold in two runs out of three", failed)
	}
	return nil
}
