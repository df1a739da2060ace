package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

const lockLong = `Write the lock file: the program of every plugin by its hash, and its tools. From
then on a plugin whose program has another hash does not start, nor does one that
the file does not name, until toolhost lock is run again.

The file is toolhost.lock beside the configuration in use, or --lock FILE. It is
meant to be kept with the configuration. A plugin is started only if it is not
known yet what tools it has; if one does not work, nothing is written.

A tool of one plugin that the lock file says is another's is refused (exit code 6):
calls of it would go to a program that did not get them before. --replace accepts
it.`

// lockName is the name of the lock file beside a configuration.
const lockName = "toolhost.lock"

// lockFile is what is in the file.
type lockFile struct {
	Version int                     `json:"version"`
	Plugins map[string]lockedPlugin `json:"plugins"`
}

// lockVersion is the version of the file's form.
const lockVersion = 1

// maxLock is the largest lock file, in bytes.
const maxLock = 4 << 20

// lockedPlugin is what is expected of a plugin. Only its hash is held against it at a start.
type lockedPlugin struct {
	SHA256  string   `json:"sha256"`
	Version string   `json:"version,omitempty"` // the author's
	Tools   []string `json:"tools"`             // ids, sorted
}

func (a *app) lockCommand() *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Write down the programs of all plugins, so that no others start",
		Long:  lockLong,
		Args:  wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.writeLock(cmd.Context(), replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "accept tools that another plugin had")
	return cmd
}

func (a *app) writeLock(ctx context.Context, replace bool) error {
	p, err := a.places()
	if err != nil {
		return err
	}
	if p.lock == "" {
		return usagef("lock: no place for the file: HOME is not set; name one with --lock")
	}
	old, err := loadLock(p.lock)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usagef("%w; correct or remove it", err)
	}
	cfg, err := a.configured()
	if err != nil {
		return err
	}
	cfg.Policy, cfg.Eager = host.Policy{}, true
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer a.closeHost(h)
	defer context.AfterFunc(ctx, func() { a.closeHost(h) })()
	_, skipped := host.Discover(cfg.Dirs...)
	for _, err := range flatten(skipped) {
		a.warn("%v", err)
	}
	now, err := lockOf(h)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	if moved := old.moved(now); len(moved) > 0 && !replace {
		return &host.Error{Op: "lock", Code: host.Denied, Err: fmt.Errorf("%s: look who should have it, and accept it with --replace", strings.Join(moved, "; "))}
	}
	if err := now.write(p.lock); err != nil {
		return err
	}
	return a.showLock(p.lock, now, old.differences(now))
}

// lockOf is what the plugins are now.
func lockOf(h *host.Host) (lockFile, error) {
	now := lockFile{Version: lockVersion, Plugins: map[string]lockedPlugin{}}
	var failed []string
	for s := range h.Plugins() {
		if s.Manifest == "" {
			failed = append(failed, fmt.Sprintf("plugin %s: %s", s.Name, s.Error))
			continue
		}
		hash := s.Program
		if hash == "" { // it is known from before, and was not started
			var err error
			if hash, err = hashFile(s.Path); err != nil {
				failed = append(failed, fmt.Sprintf("plugin %s: %v", s.Name, err))
				continue
			}
		}
		tools := append([]string{}, s.Tools...)
		slices.Sort(tools)
		now.Plugins[s.Name] = lockedPlugin{SHA256: hash, Version: s.Version, Tools: tools}
	}
	if len(failed) > 0 {
		return now, &host.Error{Op: "lock", Code: host.Unavailable, Err: fmt.Errorf("nothing is written: %s", strings.Join(failed, "; "))}
	}
	return now, nil
}

// moved says which tools were another plugin's (T18).
func (l lockFile) moved(now lockFile) (all []string) {
	owners := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(l.Plugins)) {
		for _, id := range l.Plugins[name].Tools {
			owners[id] = append(owners[id], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Plugins)) {
		for _, id := range now.Plugins[name].Tools {
			if had := owners[id]; len(had) > 0 && !slices.Contains(had, name) {
				all = append(all, fmt.Sprintf("tool %s of plugin %s was %s's", id, name, strings.Join(had, " and ")))
			}
		}
	}
	return all
}

// lockChange is what differs from the lock file before.
type lockChange struct {
	Plugin string `json:"plugin"`
	Old    string `json:"old,omitempty"` // SHA-256; empty: it is new
	New    string `json:"new,omitempty"` // empty: it is gone
}

func (l lockFile) differences(now lockFile) []lockChange {
	all := []lockChange{}
	names := slices.Sorted(maps.Keys(l.Plugins))
	names = append(names, slices.Sorted(maps.Keys(now.Plugins))...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if c := (lockChange{name, l.Plugins[name].SHA256, now.Plugins[name].SHA256}); c.Old != c.New {
			all = append(all, c)
		}
	}
	return all
}

func (a *app) showLock(path string, l lockFile, changes []lockChange) error {
	if a.json {
		return writeJSON(a.out, struct {
			File string `json:"file"`
			lockFile
			Changes []lockChange `json:"changes"`
		}{path, l, changes})
	}
	var b strings.Builder
	for _, c := range changes {
		switch {
		case c.Old == "":
			fmt.Fprintf(&b, "added %s %.12s\n", c.Plugin, c.New)
		case c.New == "":
			fmt.Fprintf(&b, "removed %s %.12s\n", c.Plugin, c.Old)
		default:
			fmt.Fprintf(&b, "changed %s %.12s -> %.12s\n", c.Plugin, c.Old, c.New)
		}
	}
	fmt.Fprintf(&b, "locked %d plugins in %s\n", len(l.Plugins), word(path))
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// write puts the file in place in one step.
func (l lockFile) write(path string) error {
	text, err := marshalIndent(l)
	if err != nil {
		return err
	}
	return replaceFile("lock", path, text, 0o644)
}

// findLock says where the lock file is.
func (p *places) findLock(named string) {
	switch {
	case named != "":
		p.lock, p.lockNamed = named, true
	case p.config != "":
		p.lock = filepath.Join(filepath.Dir(p.config), lockName)
	}
}

// readLock returns what Config.Lock is: nil if there is no lock file.
func (p *places) readLock() (map[string]string, error) {
	if p.lock == "" {
		return nil, nil
	}
	l, err := loadLock(p.lock)
	if errors.Is(err, fs.ErrNotExist) && !p.lockNamed {
		return nil, nil
	}
	if err != nil {
		return nil, usagef("%w", err)
	}
	hashes := map[string]string{}
	for name, plugin := range l.Plugins {
		hashes[name] = plugin.SHA256
	}
	return hashes, nil
}

// loadLock reads a lock file. What it does not understand it refuses: a lock that is read in part locks in part.
func loadLock(path string) (lockFile, error) {
	var l lockFile
	fail := func(err error) (lockFile, error) { return lockFile{}, fmt.Errorf("lock file %s: %w", path, err) }
	if bad, ok := errors.AsType[*host.PlaceError](host.CheckPlace(path)); ok {
		return fail(bad)
	}
	text, err := readBounded(path, maxLock)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fail(e.Err)
	}
	if err != nil {
		return fail(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return fail(err)
	}
	if l.Version != lockVersion {
		return fail(fmt.Errorf("version %d, and this toolhost reads version %d", l.Version, lockVersion))
	}
	if d.More() {
		return fail(errors.New("something follows its end"))
	}
	for name, plugin := range l.Plugins {
		if sum, err := hex.DecodeString(plugin.SHA256); err != nil || len(sum) != 32 {
			return fail(fmt.Errorf("plugin %s: sha256 %q is no SHA-256", name, plugin.SHA256))
		}
	}
	return l, nil
}
