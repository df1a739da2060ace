package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scenario is one of a requirement set.
type scenario struct {
	name  string
	score string // "scored", or why it is not: extension, pending, added-after-release
}

// readRequirements reads a requirement set of the suite: the scenarios of one side, in its order.
func readRequirements(file, side string) ([]scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var set struct {
		Server    []string `yaml:"server"`
		Client    []string `yaml:"client"`
		NotScored []struct {
			Scenario string `yaml:"scenario"`
			Leg      string `yaml:"leg"`
			Reason   string `yaml:"reason"`
		} `yaml:"not_scored"`
	}
	if err := yaml.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	names := set.Client
	if side == "server" {
		names = set.Server
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no scenarios of a %s", file, side)
	}
	var all []scenario
	for _, name := range names {
		all = append(all, scenario{name, "scored"})
	}
	for _, n := range set.NotScored {
		if n.Leg == side {
			all = append(all, scenario{n.Scenario, n.Reason})
		}
	}
	return all, nil
}

// readExpected reads the expected failures of one side: scenario, or scenario:check, to the reason, which is the comment on its
// line. A line without one is an error.
func readExpected(file, side string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lists map[string]yaml.Node
	if err := yaml.Unmarshal(text, &lists); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	reasons := map[string]string{}
	for _, n := range lists[side].Content {
		reason := strings.TrimSpace(strings.TrimPrefix(n.LineComment, "#"))
		if reason == "" {
			return nil, fmt.Errorf("%s:%d: %s: say why it fails, in a comment on its line", file, n.Line, n.Value)
		}
		if _, ok := reasons[n.Value]; ok {
			return nil, fmt.Errorf("%s:%d: %s is there twice", file, n.Line, n.Value)
		}
		reasons[n.Value] = reason
	}
	return reasons, nil
}

// check is one check of a scenario, as checks.json has it.
type check struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	Error  string `json:"errorMessage"`
}

// stamp is what the suite appends to the name of a scenario's directory.
var stamp = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

// readResults reads what the suite wrote to dir: the checks of every scenario that ran.
func readResults(dir, side string) (map[string][]check, error) {
	results := map[string][]check{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name = stamp.ReplaceAllString(filepath.ToSlash(name), "")
		if side == "server" {
			name = strings.TrimPrefix(name, "server-") // and a scenario may be called server-initialize
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		results[name] = checks
		return nil
	})
	return results, err
}
