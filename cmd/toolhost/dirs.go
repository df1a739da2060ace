package main

import (
	"errors"
	"os"
	"path/filepath"
)

// places says where plugins, configuration and state are. What the command line names may be anywhere;
// everything else is an absolute path, so that nothing below the working directory is used unasked (T51): see useWorkDir.
type places struct {
	plugins     []string
	config      string // may not exist unless configNamed
	state       string
	configNamed bool // by --config
	dirsNamed   bool // by --plugins; others need not exist

	lock      string // where the lock file is, or would be
	lockNamed bool   // by --lock

	work   *content // of the working directory, if it is trusted and as it was
	notice string   // why what it holds is not used; empty: it holds nothing, or is used
}

// findPlaces resolves flags, environment and defaults, in this order.
func findPlaces(plugins []string, config, state string) (places, error) {
	p := places{config: config, configNamed: config != "", plugins: plugins, dirsNamed: len(plugins) > 0, state: state}
	home := homeDir()
	if len(p.plugins) == 0 {
		dirs, err := dirsFromEnv()
		if err != nil {
			return p, err
		}
		p.plugins = dirs
	}
	if len(p.plugins) == 0 {
		if data := xdg("XDG_DATA_HOME", home, ".local/share"); data != "" {
			p.plugins = []string{filepath.Join(data, "toolhost", "plugins")}
		}
	}
	if !p.configNamed {
		if dir := xdg("XDG_CONFIG_HOME", home, ".config"); dir != "" {
			p.config = filepath.Join(dir, "toolhost", "toolhost.yaml")
		}
	}
	if p.state == "" {
		switch env := os.Getenv("TOOLHOST_STATE"); {
		case env == "":
			if dir := xdg("XDG_STATE_HOME", home, ".local/state"); dir != "" {
				p.state = filepath.Join(dir, "toolhost")
			}
		case !filepath.IsAbs(env):
			return p, usagef("TOOLHOST_STATE is %q: it must be an absolute path (or use --state)", env)
		default:
			p.state = env
		}
	}
	if p.state == "" {
		return p, usagef("no state directory: HOME is not set; set HOME or name one with --state")
	}
	return p, nil
}

// dirsFromEnv reads TOOLHOST_PLUGINS, a path list. An empty part would mean the working directory and is
// skipped.
func dirsFromEnv() ([]string, error) {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("TOOLHOST_PLUGINS")) {
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			return nil, usagef("TOOLHOST_PLUGINS has %q: its paths must be absolute (or use --plugins)", dir)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// xdg returns a base directory of the XDG specification, which ignores relative values; empty if there is
// none.
func xdg(name, home, fallback string) string {
	if dir := os.Getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, fallback)
}

func homeDir() string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return home
}

// exists reports whether path is there; a path that cannot be looked at counts as there, so that the error
// shows.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
