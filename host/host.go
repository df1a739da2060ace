package host

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/launch"
	"github.com/toolhost/toolhost/host/internal/state"
)

// Config configures a host. It is plain data; the zero value plus Dirs works. It must not be changed after
// Open.
type Config struct {
	Dirs        []string          // searched for toolplugin-* (see Discover)
	Plugins     []Plugin          // named one by one; they win over found ones of the same name
	Tools       map[string]string // extra names: alias -> tool id or plugin/id (N-1)
	Limits      Limits            // every deadline and size; zero fields are the defaults
	StateDir    string            // if empty, the user's state directory (design section 6)
	Hooks       []Hook            // Before in this order, After in reverse; Call.Hooks nest inside
	Policy      Policy            // allow, ask or deny by rules; if zero, allow
	Early       Early             // when pieces of an input may reach a plugin; if zero, EarlyDecided
	Definitions Definitions       // what becomes of tools whose definitions seem to speak to the model; if zero, DefinitionsWarn
	Transform   *Transform        // host-wide display and transcript policy, tried before the tools' own views; if nil, none
	Keys        [][]byte          // suspension keys of 32 bytes, newest first; if empty, one is made in StateDir at the first suspension. Once they are loaded, Linux keeps others of this user from looking into the process (T57)
	Tracer      Tracer            // receives spans; if nil, none are made
	Lock        map[string]string // plugin name -> SHA-256 in hex that its binary must have (S8); a plugin that is not named does not start. If nil, there is no lock
	Watch       time.Duration     // if not zero, Dirs and binaries are looked at this often, and what changed is reloaded
	Eager       bool              // if true, Open waits until every plugin is ready or failed; if false, a plugin is asked for its tools when they are first needed
	Logger      *slog.Logger      // the host's log and the plugins'; if nil, discards

	// SandboxHelper is the program toolhost-sandbox, which starts plugins whose sandbox is more than a fork
	// can make. If empty, the one beside the running program, if it is there.
	SandboxHelper string
}

// Plugin says how to start one plugin, or how to reach a running one.
type Plugin struct {
	Name     string          // if empty, from the file's name without toolplugin-
	Path     string          // the binary; any language
	Args     []string        // its arguments
	Env      []string        // K=V; they win over the allow-listed environment (S2)
	Settings json.RawMessage // JSON object, handed over the wire, never in the environment or argv; may hold secrets
	SHA256   string          // if set, the binary must have this hash (hex)
	Sandbox  Sandbox         // what its processes may see, use and do
	Trusted  bool            // its annotations and its word on idempotency are believed
	Grant    Grant           // what of the conversation its tools may see, if they ask
	Limits   Limits          // this plugin's own; a zero field is the host's
	Programs []string        // what it starts in turn, such as the server that it imports; absolute. Before every start their places are checked as its own is (T55)

	// Unusable is why it cannot be used, as whoever read its configuration found: a variable that is not set, for instance. It is listed
	// with this error and nothing of it is started. If nil, it can be used.
	Unusable error

	// Definitions is what becomes of this plugin's tools whose definitions seem to speak to the model, or that grew. If nil,
	// Config.Definitions.
	Definitions *Definitions

	// Dial reaches a running plugin in place of Path: in process, under a debugger, remote. The embedder
	// vouches for the connection.
	Dial func(context.Context) (net.Conn, error)
}

// Grant is what of the conversation a plugin's tools may see, if they ask for it (T41). The request context
// needs no grant: a tool sees the keys that its schema names.
type Grant struct {
	Messages bool `json:"messages"` // Call.Messages
}

// Host runs plugins and calls their tools. Its methods may be called concurrently.
type Host struct {
	cfg      Config
	lim      Limits
	log      *slog.Logger // through sink
	sink     *logSink
	launcher *launch.Launcher
	rules    *Rules
	state    *state.Dir
	keyM     sync.Mutex // guards ring
	ring     *state.Keyring
	opened   time.Time
	cache    *cache
	hub      hub
	recorded sync.Once // the census runs

	plugins    atomic.Pointer[[]*plugin] // sorted by name
	reloading  sync.Mutex                // held while plugins is replaced
	skipped    atomic.Pointer[error]     // what Dirs hold that is no plugin
	registry   atomic.Pointer[registry]
	generation atomic.Uint64 // of registry
	publishM   sync.Mutex    // one snapshot is built at a time

	life    context.Context // ends with the host
	end     context.CancelFunc
	closing context.Context // ends when Close begins
	close   context.CancelFunc
	work    sync.WaitGroup // every goroutine of the host
	spawnM  sync.Mutex     // orders spawn and Close
	closed  atomic.Bool
	calls   atomic.Uint64 // numbers calls without an id

	deadlines deadlines // of the calls under way
}

// Open starts a host. A plugin that does not work is listed with its cause by Plugins and never makes
// Open fail (D1, C12); what is found in Dirs and is no plugin is logged. ctx bounds Open itself, not the
// host's life. The error is an *Error, with code InvalidConfig if cfg itself cannot work: a plugin
// without a path, two of one name, an unknown sandbox.
func Open(ctx context.Context, cfg Config) (*Host, error) {
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	rules, err := cfg.Policy.Compile()
	if err != nil {
		return nil, &Error{Op: "open", Code: InvalidConfig, Err: err}
	}
	dir, err := state.Open(cfg.StateDir)
	if err != nil {
		return nil, &Error{Op: "open", Code: InvalidConfig, Err: err}
	}
	dir.NoDump = true // from when the keys are loaded (T57)
	h := &Host{opened: time.Now(), cfg: cfg, lim: cfg.Limits.withDefaults(), log: log, rules: rules, state: dir}
	h.cache = openCache(h)
	plugins, err := h.gatherPlugins()
	if err != nil {
		return nil, &Error{Op: "open", Code: InvalidConfig, Err: err}
	}
	h.life, h.end = context.WithCancel(context.WithoutCancel(ctx))
	h.closing, h.close = context.WithCancel(h.life)
	h.sink = newLogSink(h.life)
	h.log = h.sink.logger(log)
	h.launcher = launch.New(launch.Config{Parallel: h.lim.Starts, Logger: log, Hide: hiddenDirs(dir), Keep: state.Binaries})
	h.registry.Store(newRegistry(nil, nil, nil))
	h.adopt(plugins)
	if cfg.Watch > 0 {
		h.work.Go(h.watchFiles)
	}
	if cfg.Eager {
		h.startAll(ctx, func(*plugin) bool { return true })
	}
	return h, nil
}

// gatherPlugins merges the named and the found plugins, sorted by name.
func (h *Host) gatherPlugins() ([]Plugin, error) {
	cfg, log := h.cfg, h.log
	found, err := discover(h.cache.index, cfg.Dirs)
	if err != nil {
		log.Warn("not taken for plugins", "error", err)
	}
	h.skipped.Store(&err)
	byName := map[string]Plugin{}
	for _, p := range found {
		byName[p.Name] = p
	}
	named := map[string]bool{}
	for _, p := range cfg.Plugins {
		if p.Path == "" && p.Dial == nil {
			return nil, fmt.Errorf("plugin %q has neither a path nor a dial function", p.Name)
		}
		if p.Name == "" {
			p.Name = PluginName(p.Path)
		}
		if p.Name == "" || strings.ContainsAny(p.Name, "/\x00") {
			return nil, fmt.Errorf("plugin name %q: it must not be empty or hold a slash", p.Name)
		}
		if named[p.Name] {
			return nil, fmt.Errorf("two plugins are named %s", p.Name)
		}
		if err := p.Sandbox.check(); err != nil {
			return nil, fmt.Errorf("plugin %s: sandbox: %w", p.Name, err)
		}
		named[p.Name] = true
		if f, ok := byName[p.Name]; ok && !sameFile(f.Path, p.Path) {
			log.Warn("a plugin that was found is not used: the configuration names another one", "plugin", p.Name, "found", f.Path)
		}
		byName[p.Name] = p
	}
	all := make([]Plugin, 0, len(byName))
	for _, p := range byName {
		if p.Path != "" {
			abs, err := filepath.Abs(p.Path)
			if err != nil {
				return nil, err
			}
			p.Path = abs
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// sameFile reports whether two paths name one file.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// learn asks every plugin of whose tools nothing is known for them, side by side, and returns when each has
// answered or failed, or ctx ends. One whose very bytes are known is not started (D7). It returns those that failed. What the others
// registered is listed then, whoever has started them.
func (h *Host) learn(ctx context.Context) []unsaid {
	recalled := false
	for p := range h.all() {
		if p.manifest.Load() == nil {
			p.recalled.Do(func() { recalled = p.recall() || recalled })
		}
	}
	if recalled {
		h.publish()
	}
	failed := h.startAll(ctx, func(p *plugin) bool { m := p.manifest.Load(); return m == nil || m.late() })
	if !h.registry.Load().is(h.all()) {
		h.publish()
	}
	return failed
}

// unsaid is a plugin that did not say what tools it has, and why.
type unsaid struct {
	plugin *plugin
	err    error
}

// startAll starts the plugins that are wanted, side by side, and returns when each is ready or failed, or ctx
// ends. It returns those that failed.
func (h *Host) startAll(ctx context.Context, wanted func(*plugin) bool) (failed []unsaid) {
	var asked sync.WaitGroup
	var mu sync.Mutex
	for p := range h.all() {
		if wanted(p) {
			asked.Go(func() { // ends with the plugin's start, or ctx
				pr, err := p.acquire(ctx, nil)
				if err == nil {
					pr.leave()
					return
				}
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, unsaid{p, err})
			})
		}
	}
	asked.Wait()
	return failed
}

// publish builds a new snapshot of what can be called.
func (h *Host) publish() {
	h.publishM.Lock()
	defer h.publishM.Unlock()
	before := h.registry.Load()
	now := registered(h.all())
	r := newRegistry(now, h.cfg.Tools, h.review(now))
	h.registry.Store(r)
	h.generation.Add(1)
	for _, c := range r.clash {
		if !slices.Contains(before.clash, c) {
			h.log.Warn("names clash", "clash", c.text)
		}
	}
	h.logReviews(before.reviews, r.reviews)
	for p := range changedPlugins(before, r) {
		p.mu.Lock()
		p.to(p.state, PluginEvent{PID: p.pid(), Text: ToolsChanged})
		p.mu.Unlock()
	}
}

// Generation counts the changes of what ToolsFor yields: as long as it is the same, so is what is yielded to one caller. Read it
// before ToolsFor. It costs nothing.
func (h *Host) Generation() uint64 { return h.generation.Load() }

// Tools yields the tools by name: each under its shortest name, and every alias. It starts the plugins that
// were never asked for their tools. What the policy hides from a caller of whom nothing is known is left
// out.
func (h *Host) Tools() iter.Seq[Tool] { return h.ToolsFor(Caller{}) }

// ToolsFor yields the tools that exist for a caller: those that the policy does not deny whatever their
// input. One source decides for lists and calls.
func (h *Host) ToolsFor(caller Caller) iter.Seq[Tool] {
	return func(yield func(Tool) bool) {
		h.learn(h.life)
		h.recheck()
		for _, row := range h.registry.Load().listed {
			if h.visible(row.entry, caller) && !yield(row.tool) {
				return
			}
		}
	}
}

// visible reports whether a tool exists for a caller.
func (h *Host) visible(e *entry, caller Caller) bool {
	return h.rules.open || h.rules.Visible(PolicyCall{Tool: e.tool, Trusted: e.plugin.cfg.Trusted, Caller: caller})
}

// Tool finds a tool by id, alias or plugin/id.
func (h *Host) Tool(name string) (Tool, bool) {
	e, _ := h.find(h.life, name)
	if e == nil || !h.visible(e, Caller{}) {
		return Tool{}, false
	}
	t := e.tool
	t.Name, t.Findings = name, h.registry.Load().reviews[e].Findings
	return t, true
}

// find looks a name up; a name that is not known yet makes the host ask the plugins that it has not asked. It returns those of them
// that failed, too: without, a name that is not there is nobody's.
func (h *Host) find(ctx context.Context, name string) (*entry, []unsaid) {
	if e, ok := h.registry.Load().byName[name]; ok {
		return e, nil
	}
	failed := h.learn(ctx)
	h.recheck()
	return h.registry.Load().byName[name], failed
}

// Skipped says what Open, or the last Reload, found in Config.Dirs and did not take for a plugin: joined of *SkipError and
// whatever reading a directory gave; nil if there was nothing of the kind.
func (h *Host) Skipped() error {
	if err := h.skipped.Load(); err != nil {
		return *err
	}
	return nil
}

// Plugins yields the state of every plugin, by name. It never waits for a start or a stop (L5) and starts
// nothing.
func (h *Host) Plugins() iter.Seq[PluginStatus] {
	return func(yield func(PluginStatus) bool) {
		for p := range h.all() {
			if !yield(p.status()) {
				return
			}
		}
	}
}

// Close stops every plugin: running calls may finish until Limits.Drain, further ones get Closed, and it
// returns within Drain + Grace + Reap whatever a plugin does (K1). A second Close does nothing.
func (h *Host) Close() error {
	h.spawnM.Lock()
	was := h.closed.Swap(true)
	h.spawnM.Unlock()
	if was {
		return nil
	}
	h.close()
	h.reloading.Lock() // a reload that runs ends soon
	defer h.reloading.Unlock()
	var stops sync.WaitGroup
	for p := range h.all() {
		stops.Go(p.stop) // ends within the limits above
	}
	stops.Wait()
	h.end()
	h.work.Wait()
	h.deadlines.close()
	h.launcher.Close()
	h.sink.close(h.lim.Reap)
	return nil
}

// spawn runs f on a goroutine that Close waits for. It does nothing and returns false after Close.
func (h *Host) spawn(f func()) bool {
	h.spawnM.Lock()
	defer h.spawnM.Unlock()
	if h.closed.Load() {
		return false
	}
	h.work.Go(f)
	return true
}

// logs reports whether anybody reads the log.
func (h *Host) logs() bool { return h.cfg.Logger != nil }
