package pluginsdk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Registry is the set of tools of a plugin whose tools depend on its settings or come
// and go. [ServeFunc] makes one for each distinct settings. It may be used concurrently, also
// after the function that got it returned.
type Registry struct {
	settings []byte
	deadline time.Time // of the Describe that had the tools built; zero: a call did
	work     *work     // what the end of the plugin waits for
	tools    atomic.Pointer[map[string]*tool]
	ready    atomic.Bool // build returned nil

	mu       sync.Mutex
	schema   []byte // of the settings
	list     []*tool
	bad      []*pb.BadTool
	dynamic  bool
	manifest *manifest  // nil: to be made again
	session  changeable // nil: none
}

// changeable is told that the manifest changed: a session.
type changeable interface{ ToolsChanged() }

// manifest is a manifest and the hash of its deterministic encoding.
type manifest struct {
	pb   *pb.Manifest
	hash []byte
}

func (m *manifest) tools() []*pb.Tool {
	if m == nil {
		return nil
	}
	return m.pb.GetTools()
}

// Settings decodes the plugin's settings into v, a pointer to a struct or map, and
// makes the schema of v's type known to the host, which then refuses settings that
// do not fit before it starts the plugin. No settings are {}. A missing or
// unknown name is an error that says where; the schema is known all the same.
func (r *Registry) Settings(v any) error {
	schema, err := settingsSchema(v)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	r.mu.Lock()
	r.schema, r.manifest = schema, nil
	r.mu.Unlock()
	return r.decodeSettings(v)
}

func (r *Registry) decodeSettings(v any) error { return decodeSettings(r.settings, v) }

// Deadline is when the host stops to wait for the tools, if it does not know them yet. A function whose tools come slowly
// then sets what it has a little before, and the others when they come. Without a deadline the host knows what was
// set the last time with these settings, and one of those tools is to be called: a function that returns without it
// makes that call fail, and its error is that of the call.
func (r *Registry) Deadline() (deadline time.Time, ok bool) { return r.deadline, !r.deadline.IsZero() }

// Go runs f on a goroutine for which the end of the plugin waits, as it does for calls: up to a second. f ends with the
// context of the function that sets the tools, whose resources it may give back.
func (r *Registry) Go(f func()) {
	r.work.add()
	// Ends with the context of build, as f promises; the server's work joins it.
	go func() {
		defer r.work.done()
		f()
	}()
}

// Dynamic says that the tools come and go: Set will be called again, or sets other
// tools the next time although the settings are the same. The host then expects changes.
func (r *Registry) Dynamic() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dynamic, r.manifest = true, nil
}

// Set makes tools the plugin's tools in place of those before. Calls that run go
// on with the definition they began with. The error names each tool that was refused and
// why; the others are set all the same.
func (r *Registry) Set(tools ...Definition) error {
	list, bad, err := compile(tools)
	byID := make(map[string]*tool, len(list))
	for _, t := range list {
		byID[t.def.GetId()] = t
	}
	r.mu.Lock()
	var before []byte
	if r.session != nil {
		before = r.currentLocked().hash
	}
	r.list, r.bad, r.manifest = list, bad, nil
	r.dynamic = r.dynamic || r.ready.Load()
	r.tools.Store(&byID)
	session := r.session
	changed := session != nil && string(before) != string(r.currentLocked().hash)
	r.mu.Unlock()
	if changed {
		session.ToolsChanged()
	}
	return err
}

// compile checks the definitions one by one; a bad one does not take its siblings with it.
func compile(tools []Definition) (list []*tool, bad []*pb.BadTool, err error) {
	var errs []error
	seen := map[string]bool{}
	for i, d := range tools {
		t, err := compileOne(d)
		id := t.def.GetId()
		if err == nil && seen[id] {
			err = errors.New("field ID: another tool has it already")
		}
		if err == nil {
			seen[id] = true
			list = append(list, t)
			continue
		}
		bad = append(bad, &pb.BadTool{Id: cut(id, maxPanicHead), Error: cut(err.Error(), maxErrorText)})
		errs = append(errs, fmt.Errorf("register tool %d %q: %w", i, cut(id, maxPanicHead), err))
	}
	return list, bad, errors.Join(errs...)
}

func compileOne(d Definition) (t *tool, err error) {
	defer func() { // an author's JSONSchema or MarshalJSON method, or a nil *Tool
		if v := recover(); v != nil {
			t, err = &tool{def: &pb.Tool{}}, &panicError{"the definition", v, debug.Stack()}
		}
	}()
	if d == nil {
		return &tool{def: &pb.Tool{}}, errors.New("the definition is nil")
	}
	return d.compile()
}

// lookup returns the tool with that id, or nil.
func (r *Registry) lookup(id string) *tool {
	if tools := r.tools.Load(); tools != nil {
		return (*tools)[id]
	}
	return nil
}

// attach makes s the session that hears of changes, and returns the manifest as of that moment.
func (r *Registry) attach(s changeable) *manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = s
	return r.currentLocked()
}

func (r *Registry) detach(s changeable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session == s {
		r.session = nil
	}
}

// current returns the manifest, with why the plugin cannot serve if err is not nil.
func (r *Registry) current(err error) *manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		m := newManifest()
		m.SettingsSchema, m.Error = r.schema, textOf(err, maxErrorText)
		return &manifest{m, hashOf(m)}
	}
	return r.currentLocked()
}

func (r *Registry) currentLocked() *manifest {
	if r.manifest == nil {
		m := newManifest()
		m.SettingsSchema, m.Dynamic, m.BadTools = r.schema, r.dynamic, r.bad
		for _, t := range r.list {
			m.Tools = append(m.Tools, t.def)
		}
		r.manifest = &manifest{m, hashOf(m)}
	}
	return r.manifest
}

func hashOf(m *pb.Manifest) []byte {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil { // every string was made valid UTF-8, so there is no way to get here
		return nil
	}
	sum := sha256.Sum256(raw)
	return sum[:]
}

// static is the build function of tools that are always the same.
func static(tools []Definition) func(context.Context, *Registry) error {
	return func(_ context.Context, r *Registry) error {
		_ = r.Set(tools...) // what was refused is in the manifest
		return nil
	}
}
