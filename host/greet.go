package host

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/internal/launch"
	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/internal/runes"
	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// startProcess launches, connects, describes and greets. Whatever fails, nothing is left of the process
// (K10). The process that it returns has nobody who watches it yet.
func (p *plugin) startProcess(ctx context.Context, g *program) (*process, error) {
	if err := p.quarantined(g); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.starts++
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, p.lim.Start)
	defer cancel()
	pr := &process{plugin: p, program: g.hold(), since: time.Now(), idle: make(chan struct{}), gone: make(chan struct{})}
	osp, err := p.startOS(ctx, g)
	if err != nil {
		g.release()
		return nil, p.startError(err)
	}
	pr.os = osp
	if err := pr.greet(ctx); err != nil {
		pr.dies(ctx, err)
		pr.kill()
		g.release()
		return nil, pr.connectError(ctx, err)
	}
	return pr, nil
}

func (p *plugin) startOS(ctx context.Context, g *program) (*launch.Process, error) {
	limit := max(session.MaxBatch, maxManifest) + 64<<10 // what one gRPC message may be (M2); larger frames are cut
	if p.cfg.Dial != nil {
		return launch.Attach(ctx, p.cfg.Dial, limit)
	}
	if err := CheckPlace(g.path); err != nil { // of the private copy: look checked the plugin's own
		return nil, &untriedError{err}
	}
	return p.host.launcher.Start(ctx, launch.Spec{
		Name: p.cfg.Name, Path: p.cfg.Path, Binary: g.path, Args: p.cfg.Args, Env: p.cfg.Env,
		Dir: p.cfg.Sandbox.Dir, Sandbox: p.cfg.Sandbox.launch(sandboxHelper(p.host.cfg.SandboxHelper)), Timeout: p.lim.Start, Output: p.logLine, MaxMessage: limit,
	})
}

// greet opens the session and says hello. The plugin is ready only after that (L11). What it registers is
// learned if it is not known; if it is known, and other than what the plugin says now, the plugin must have
// said that its tools come and go (D6).
func (pr *process) greet(ctx context.Context) error {
	p := pr.plugin
	m, known := p.known(pr.program), true
	if m == nil {
		known = false
		var err error
		if m, err = pr.describe(ctx); err != nil {
			return err
		}
	}
	hash, err := pr.hello(ctx)
	switch {
	case err != nil:
		return err
	case string(m.hash[:]) == string(hash):
	case p.cfg.Dial == nil && !m.dynamic:
		when := "Describe named"
		if known {
			when = "the same program registered on " + m.since.Format(time.DateOnly)
		}
		return &lieError{fmt.Sprintf("it registers other tools (manifest %.6x) than %s (manifest %.6x), and is not declared dynamic", hash, when, m.hash)}
	default:
		if m, err = pr.describe(ctx); err != nil {
			return err
		}
	}
	pr.manifest.CompareAndSwap(nil, m) // it may have changed its tools already
	return nil
}

// hello opens the session and returns the hash of the manifest that the plugin serves.
func (pr *process) hello(ctx context.Context) ([]byte, error) {
	p := pr.plugin
	stream, err := session.Connect(p.host.life, ctx, pr.os.Conn(), grpc.MaxCallRecvMsgSize(session.MaxBatch+64<<10))
	if err != nil {
		return nil, err
	}
	pr.sess = session.New(stream, session.Config{
		Side:           session.Host,
		Limits:         session.Limits{Message: p.lim.Message},
		Held:           p.lim.Held,
		OnLog:          pr.logRecord,
		OnToolsChanged: pr.toolsChanged,
	})
	welcome, err := pr.sess.Hello(ctx, &pb.Hello{
		Versions: []uint32{wire.Version},
		Limits:   &pb.Limits{Message: uint64(p.lim.Message), Window: wire.Window, Log: wire.MaxLog, Held: uint64(max(0, p.lim.Held))},
		Settings: p.cfg.Settings,
	})
	switch {
	case err != nil:
		return nil, err
	case welcome.GetRefusal() != "":
		return nil, &refusal{runes.Cut(welcome.GetRefusal(), maxRefusal)}
	case welcome.GetVersion() != wire.Version:
		return nil, &refusal{fmt.Sprintf("it speaks wire version %d, this host %d; rebuild the plugin with a matching SDK", welcome.GetVersion(), wire.Version)}
	}
	return welcome.GetManifestHash(), nil
}

// refusal is why a plugin that is alive cannot serve this host: its own word, or settings that break its
// schema.
type refusal struct{ text string }

// maxRefusal is how much of a plugin's own words an error quotes.
const maxRefusal = 4 << 10

func (r *refusal) Error() string { return r.text }

// describe asks for the manifest, and remembers it.
func (pr *process) describe(ctx context.Context) (*manifest, error) {
	p := pr.plugin
	ctx, cancel := context.WithTimeout(ctx, p.lim.Describe)
	defer cancel()
	client := pb.NewToolPluginServiceClient(pr.os.Conn())
	resp, err := client.Describe(ctx, &pb.DescribeRequest{Settings: p.cfg.Settings}, grpc.MaxCallRecvMsgSize(maxManifest+1<<10))
	if err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	if err := checkSettings(p.cfg.Settings, resp.GetManifest()); err != nil {
		return nil, err
	}
	m, err := newManifest(p, resp.GetManifest(), false)
	if err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	m.key, m.since = pr.program.key, time.Now()
	if m.late() && p.known(pr.program) == nil {
		return m, nil // there is nothing to remember, nor to compare with
	}
	changes := p.grown(m)
	m.changes.Store(&changes)
	if p.cfg.Dial == nil {
		p.host.cache.learnManifest(m.key, resp.GetManifest(), m.clean(), changes != nil && len(changes) == 0)
	}
	return m, nil
}

// known is what a program registered before; nil: nothing is known.
func (p *plugin) known(g *program) *manifest {
	if p.relearn.Load() {
		return nil
	}
	if m := p.manifest.Load(); m != nil && m.key == g.key && !m.late() {
		return m
	}
	if p.cfg.Dial != nil {
		return nil
	}
	text, since, mark := p.host.cache.manifest(g.key)
	if text == nil {
		return nil
	}
	m, err := newManifest(p, text, mark&markClean != 0)
	if err != nil {
		return nil // of another version of this host
	}
	m.key, m.since = g.key, since
	if mark&markSettled == 0 {
		changes := p.grown(m)
		m.changes.Store(&changes)
		if changes != nil && len(changes) == 0 {
			p.host.cache.settle(g.key)
		}
	}
	return m
}

// checkSettings holds the settings against the schema that the plugin declared, and takes its own word if
// it cannot serve with them.
func checkSettings(settings []byte, m *pb.Manifest) error {
	if len(settings) == 0 {
		settings = emptyInput
	}
	s, err := schema.Compile(m.GetSettingsSchema())
	if err != nil {
		return fmt.Errorf("the schema of its settings: %w", err)
	}
	doc, err := schema.Parse(settings, schema.Limits{})
	if err == nil {
		err = s.Validate(doc)
	}
	if err != nil {
		return &refusal{fmt.Sprintf("settings: %v", schemaError(err))}
	}
	if why := m.GetError(); why != "" {
		return &refusal{runes.Cut(why, maxRefusal)}
	}
	return nil
}

// toolsChanged has the plugin described again. However often it is called, one Describe runs and at most
// one more follows. The goroutine ends when what changed is known, or not to be known.
func (pr *process) toolsChanged() {
	if pr.changes.Add(1) > 1 {
		return
	}
	pr.plugin.host.work.Go(func() { // the process is not gone yet, so the host still waits
		for seen := pr.changes.Load(); ; seen = pr.changes.Load() {
			pr.follow()
			if pr.changes.CompareAndSwap(seen, 0) {
				return
			}
		}
	})
}

// follow publishes what the plugin registers now. One that changed its tools without a word of it in its
// manifest is quarantined (D6).
func (pr *process) follow() {
	p := pr.plugin
	before := pr.manifest.Load()
	m, err := pr.describe(p.host.life)
	switch {
	case err != nil:
		p.log.Warn("the plugin's tools changed, but it does not describe them", "error", err)
		return
	case !m.dynamic && p.cfg.Dial == nil && (before == nil || m.hash != before.hash):
		p.mu.Lock()
		p.quarantine(&lieError{"it changed its tools while it ran, and is not declared dynamic"})
		p.mu.Unlock()
		pr.os.Kill()
		return
	}
	p.mu.Lock() // a process that is put in place meanwhile takes what is known of it
	pr.manifest.Store(m)
	current := p.current.Load() == pr
	if current {
		p.manifest.Store(m)
	}
	p.mu.Unlock()
	if current {
		p.host.publish()
	}
}
