package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/proto/wire"
)

// buildVersion is what this binary knows of itself.
type buildVersion struct {
	Version  string `json:"version"` // of the module
	Wire     int    `json:"wire"`    // version of the wire between host and plugin
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // built from files that differ from the commit
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  wants(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := ownVersion()
			if a.json {
				return writeJSON(a.out, v)
			}
			_, err := fmt.Fprintln(a.out, v)
			return err
		},
	}
}

func ownVersion() buildVersion {
	v := buildVersion{
		Version: "(devel)", Wire: wire.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String is one line.
func (v buildVersion) String() string {
	s := fmt.Sprintf("toolhost %s, wire %d, %s, %s", v.Version, v.Wire, v.Go, v.Platform)
	if v.Commit != "" {
		s += ", commit " + v.Commit
		if v.Modified {
			s += " (modified)"
		}
	}
	return s
}
