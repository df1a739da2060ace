package host

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/state"
	"github.com/toolhost/toolhost/proto/wire"
)

// Reload looks at Config.Dirs and at every binary again. A plugin that was added is taken in; one that is
// gone finishes its calls and is dropped; where a binary changed, the new version is started and asked for
// its tools beside the old one, takes its place, and the old one finishes its calls (D8). A new version that
// does not start changes nothing, and is not tried again until its file changes. At most two versions of a
// plugin run at once: a third waits for the first to end (K12), as PluginStatus.Waiting says.
//
// It returns when everything is in place or failed, or ctx ends; nothing that runs depends on ctx. The error
// is joined of one *Error for each plugin that did not take its new version. It may be called concurrently.
func (h *Host) Reload(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.closing, cancel)()
	h.reloading.Lock()
	defer h.reloading.Unlock()
	if h.closed.Load() {
		return &Error{Op: "reload", Code: Closed, Err: errHostClosed}
	}
	plugins, err := h.gatherPlugins()
	if err != nil {
		return &Error{Op: "reload", Code: InvalidConfig, Err: err}
	}
	kept, gone := h.adopt(plugins)
	for _, p := range gone {
		h.work.Go(p.stop) // ends within drain, grace and reap; reloading is held, so the host is not closed
	}
	errs := make([]error, len(kept))
	var swaps sync.WaitGroup
	for i, p := range kept {
		swaps.Go(func() { errs[i] = p.swap(ctx) }) // ends with the swap, or ctx
	}
	swaps.Wait()
	h.publish()
	return errors.Join(errs...)
}

// adopt takes in the plugins that are new, and returns those that there were already and those that there
// are no more.
func (h *Host) adopt(plugins []Plugin) (kept, gone []*plugin) {
	before := map[string]*plugin{}
	for p := range h.all() {
		before[p.cfg.Name] = p
	}
	quarantines := h.quarantines()
	var now []*plugin
	for _, cfg := range plugins {
		if p := before[cfg.Name]; p != nil && p.cfg.Path == cfg.Path {
			kept, now = append(kept, p), append(now, p)
			delete(before, cfg.Name)
			continue
		}
		p := &plugin{
			host: h, cfg: cfg, lim: cfg.Limits.over(h.cfg.Limits).withDefaults(), log: h.log.With("plugin", cfg.Name), state: Discovered,
		}
		p.remember(quarantines[cfg.Name])
		now = append(now, p)
	}
	for _, p := range before {
		gone = append(gone, p)
	}
	h.plugins.Store(&now)
	h.publish()
	return kept, gone
}

// quarantines are those that hosts of this user have set, by plugin.
func (h *Host) quarantines() map[string]state.Quarantine {
	list, err := h.state.Quarantines()
	if err != nil {
		h.log.Debug("quarantines cannot be read", "error", err)
	}
	byName := map[string]state.Quarantine{}
	for _, q := range list {
		byName[q.Plugin] = q
	}
	return byName
}

// remember takes what is known of a plugin from before, so that it need not be started to be listed (D7).
func (p *plugin) remember(q state.Quarantine) {
	if q.Plugin != "" {
		p.quarant, p.onDisk, p.state = &q, true, Quarantined
		p.err = p.unavailable(&quarantineError{reason: q.Reason})
	}
	if p.cfg.Dial != nil {
		return
	}
	info, err := os.Stat(p.cfg.Path)
	if err != nil {
		return
	}
	id, known := state.Identify(info)
	f, seen := p.host.cache.file(p.cfg.Path)
	if !known || !seen || !f.Is(id) || p.pinned(f.SHA256) != nil {
		return
	}
	m := p.known(&program{key: p.manifestKey(f.SHA256)})
	if m == nil {
		return
	}
	p.manifest.Store(m)
	if p.state == Discovered {
		p.state = Described
	}
}

// recall takes what is known of the bytes at the plugin's path, where the file's times could not tell that they are
// known: it is younger than the index can trust, or was copied or touched. It reports whether something is known.
func (p *plugin) recall() bool {
	if p.cfg.Dial != nil {
		return false
	}
	if f, seen := p.host.cache.file(p.cfg.Path); !seen || f.Refused != "" {
		return false // the start reads the file
	}
	g, err := p.look()
	if err != nil {
		return false
	}
	defer g.release()
	m := p.known(g)
	if m == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.manifest.CompareAndSwap(nil, m)
	if p.state == Discovered {
		p.to(Described, PluginEvent{})
	}
	return true
}

// swap puts the program that is at the plugin's path now in the place of the one that is known. A plugin of
// which nothing was ever asked is left alone.
func (p *plugin) swap(ctx context.Context) error {
	p.swapping.Lock()
	defer p.swapping.Unlock()
	if err := p.awaitLaunch(ctx); err != nil {
		return p.unavailable(err)
	}
	p.mu.Lock()
	idle := p.closed || p.program == nil && p.manifest.Load() == nil || p.cfg.Dial != nil
	p.mu.Unlock()
	if idle {
		return nil
	}
	g, err := p.look()
	if err != nil {
		return p.unavailable(err)
	}
	defer g.release()
	p.mu.Lock()
	same := p.program == g || p.program == nil && p.manifest.Load().key == g.key
	p.mu.Unlock()
	if same {
		return nil
	}
	if err := p.awaitRoom(ctx, g); err != nil {
		return p.unavailable(err)
	}
	life, cancel := context.WithCancel(p.host.life)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	pr, err := p.startProcess(life, g)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		if ctx.Err() == nil && !p.closed {
			p.refuse(g, err)
		}
		return err
	case p.closed:
		p.retire(pr)
		p.host.work.Go(pr.watch)
		return p.unavailable(errHostClosed)
	}
	p.install(pr)
	return nil
}

// awaitLaunch waits for a start under way: of which version it is cannot be known before.
func (p *plugin) awaitLaunch(ctx context.Context) error {
	p.mu.Lock()
	l := p.launch
	p.mu.Unlock()
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitRoom waits until no replaced version is left but the one that takes calls.
func (p *plugin) awaitRoom(ctx context.Context, g *program) error {
	for {
		p.mu.Lock()
		if len(p.draining) == 0 {
			p.waiting = ""
			p.mu.Unlock()
			return nil
		}
		old := p.draining[0]
		p.waiting = fmt.Sprintf("version %s waits for process %d of version %s to finish its calls", g.short(), old.os.PID(), old.program.short())
		p.to(p.state, PluginEvent{Text: p.waiting})
		p.mu.Unlock()
		select {
		case <-old.gone:
		case <-ctx.Done():
			p.mu.Lock()
			p.waiting = ""
			p.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

// watchFiles reloads when the directories or binaries have changed and then stayed as they are for one look.
// It ends with the host.
func (h *Host) watchFiles() {
	tick := time.NewTicker(h.cfg.Watch)
	defer tick.Stop()
	loaded := h.files()
	last := loaded
	for {
		select {
		case <-tick.C:
		case <-h.life.Done():
			return
		}
		now := h.files()
		if settled := now == last; settled && now != loaded {
			loaded = now
			if err := h.Reload(h.life); err != nil && h.life.Err() == nil {
				h.log.Warn("reload", "error", err)
			}
		}
		last = now
	}
}

// files is a text that changes whenever a directory's plugins or a binary do.
func (h *Host) files() string {
	var b strings.Builder
	look := func(path string) {
		if info, err := os.Stat(path); err == nil {
			id, _ := state.Identify(info)
			fmt.Fprintf(&b, "%s %v %v %v\n", path, id, info.Size(), info.ModTime())
		}
	}
	for _, dir := range h.cfg.Dirs {
		for _, path := range candidates(dir) {
			look(path)
		}
	}
	for _, p := range h.cfg.Plugins {
		look(p.Path)
	}
	return b.String()
}

// candidates are the entries of a directory that are named like plugins.
func candidates(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir) // what cannot be read has none
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), wire.BinaryPrefix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// all yields the plugins by name.
func (h *Host) all() iter.Seq[*plugin] {
	if list := h.plugins.Load(); list != nil {
		return slices.Values(*list)
	}
	return slices.Values([]*plugin(nil))
}

// plugin finds a plugin by name; nil: there is none.
func (h *Host) plugin(name string) *plugin {
	for p := range h.all() {
		if p.cfg.Name == name {
			return p
		}
	}
	return nil
}
