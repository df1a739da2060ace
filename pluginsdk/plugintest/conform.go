package plugintest

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/conform"
)

// Conform holds the built plugin at path to what a host expects, with the zero Config.
func Conform(t *testing.T, path string) *conform.Report {
	t.Helper()
	return Config{}.Conform(t, path)
}

// Conform holds the built plugin at path to what a host expects: each check of [conform.Run] is a subtest, which fails with what
// was seen and what to do, or is skipped with the reason. Only tools that change nothing are called, unless Calls or
// Unsafe say otherwise. It takes about a second for a plugin that answers at once, and leaves nothing behind.
func (c Config) Conform(t *testing.T, path string) *conform.Report {
	t.Helper()
	report, err := conform.Run(t.Context(), conform.Config{
		Path: path, Args: c.Args, Env: c.Env, Settings: c.Settings, Sandbox: c.Sandbox, Limits: c.Limits, Calls: c.Calls, Unsafe: c.Unsafe,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range report.Checks {
		t.Run(check.Name, func(t *testing.T) {
			switch check.State {
			case conform.Failed:
				t.Errorf("%s\n%s", check.Detail, check.Remedy)
			case conform.Skipped:
				t.Skip(strings.TrimSuffix(check.Detail+"\n"+check.Remedy, "\n"))
			default:
				t.Log(check.Detail)
			}
		})
	}
	return report
}
