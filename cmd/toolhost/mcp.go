package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/mcpserver"
)

const mcpLong = `Serve every tool to clients of the Model Context Protocol: to the one that started
this command, over stdin and stdout, or with --http to all that reach ADDR.

stdout carries the protocol and nothing else, whatever plugins print. The server
ends, and every plugin with it, when stdin does, when its parent dies, or at SIGTERM.

With --http the address must be one of this machine's loopback, unless --allow-remote
is given and there is a token. The token is in the file of --token-file, in
$TOOLHOST_MCP_TOKEN, or in the files of the configuration's serve.tokens; a file
must be readable by you alone. It is never an argument, which others can read. The
URL is printed on stderr.

No client may answer an approval unless --approvals names its transport: the call then
says that it waits, and toolhost pending and toolhost resume are for the person.

Plugins are looked at every 2 seconds, or as often as the configuration's watch says;
clients are told when the tools are others. The configuration's block serve holds
defaults for the flags.`

// mcpFlags are the flags of the mcp command.
type mcpFlags struct {
	http           string
	allowRemote    bool
	tokenFile      string
	hosts, origins []string
	prefix         bool
	profile        string
	approvals      []string
}

// watchMCP is how often the plugins are looked at, if the configuration does not say.
const watchMCP = 2 * time.Second

func (a *app) mcpCommand() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp [--http ADDR]",
		Short: "Serve the tools to MCP clients, over stdio or HTTP",
		Long:  mcpLong,
		Example: `  toolhost mcp
  toolhost mcp --http 127.0.0.1:8787 --token-file ~/.config/toolhost/mcp.token
  toolhost --plugins bin/plugins mcp --approvals stdio`,
		Args: wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("http") {
				return a.serveMCP(cmd, f, nil)
			}
			for _, name := range []string{"allow-remote", "token-file", "allowed-host", "allowed-origin"} {
				if cmd.Flags().Changed(name) {
					return usagef("mcp: --%s is for --http", name)
				}
			}
			out, err := takeStdout() // before anything could write there
			if err != nil {
				return err
			}
			return a.serveMCP(cmd, f, out)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.http, "http", "", "serve streamable HTTP at `ADDR`, such as 127.0.0.1:8787; port 0 takes any")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "let ADDR be one that other machines reach; needs a token")
	flags.StringVar(&f.tokenFile, "token-file", "", "who calls over HTTP must bear the token in `FILE`")
	flags.StringArrayVar(&f.hosts, "allowed-host", nil, "take requests for the host `NAME`, as a proxy in front sends them (repeatable)")
	flags.StringArrayVar(&f.origins, "allowed-origin", nil, "take requests of web pages of `ORIGIN`, such as https://app.example.com (repeatable)")
	flags.BoolVar(&f.prefix, "prefix", false, "name every tool with its plugin: plugin__id")
	flags.StringVar(&f.profile, "profile", "", "export schemas by the rules of `PROFILE`: strict-model")
	flags.StringSliceVar(&f.approvals, "approvals", nil, "ask the client for approvals over `TRANSPORT`: stdio, http or both; default none")
	return cmd
}

// serveMCP serves on out, or over HTTP if out is nil, until the client, the parent or a signal ends it.
func (a *app) serveMCP(cmd *cobra.Command, f mcpFlags, out *os.File) error {
	ctx := cmd.Context()
	cfg, err := a.configured()
	if err != nil {
		return err
	}
	if cfg.Watch == 0 {
		cfg.Watch = watchMCP
	}
	f.defaults(a.file.Serve, cmd.Flags().Changed)
	serve, err := f.config(a.file.Serve)
	if err != nil {
		return err
	}
	var front *httpFront
	if out == nil {
		if front, err = a.listen(f, a.file.Serve.Tokens, &serve); err != nil {
			return err
		}
		defer front.close()
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	serve.Host, serve.Logger = h, cfg.Logger
	s, err := mcpserver.New(serve)
	if err != nil {
		a.closeHost(h)
		return usagef("mcp: %w", err)
	}
	if !a.json && len(slices.Collect(h.Plugins())) == 0 {
		a.warn("mcp: no plugins, so clients see no tools: toolhost doctor says where they are searched; --plugins DIR and --config FILE before mcp name others")
	}
	if front != nil {
		err = front.serve(ctx, s.Handler())
	} else {
		err = a.serveStdio(ctx, s, out)
	}
	a.endMCP(s, h)
	if errors.Is(err, context.Canceled) || errors.Is(err, errOrphaned) || ctx.Err() != nil { // it was told to end, and did
		return nil
	}
	return err
}

// defaults takes from the configuration what no flag says.
func (f *mcpFlags) defaults(s config.Serve, changed func(string) bool) {
	if !changed("prefix") {
		f.prefix = s.Prefix
	}
	if !changed("profile") {
		f.profile = s.Profile
	}
	if !changed("approvals") {
		f.approvals = s.Approvals
	}
	f.hosts, f.origins = slices.Concat(s.AllowedHosts, f.hosts), slices.Concat(s.AllowedOrigins, f.origins)
}

// config returns the server's configuration, but for the host and who may call over HTTP.
func (f *mcpFlags) config(s config.Serve) (mcpserver.Config, error) {
	out := mcpserver.Config{
		Version: strings.Trim(ownVersion().Version, "()"), Instructions: s.Instructions, Prefix: f.prefix, Profile: mcpserver.Profile(f.profile),
		Heartbeat: s.Heartbeat, Sessions: s.Sessions, SessionIdle: s.SessionIdle, AllowedHosts: f.hosts, AllowedOrigins: f.origins,
		NameBudget: s.NameBudget, Result: s.Result, Context: s.Context,
	}
	if out.Profile != mcpserver.ProfileFull && out.Profile != mcpserver.ProfileStrictModel {
		return out, usagef("mcp: --profile %q: want %s", f.profile, mcpserver.ProfileStrictModel)
	}
	for _, word := range f.approvals {
		switch word {
		case "stdio":
			out.Approvals.Stdio = true
		case "http":
			out.Approvals.HTTP = true
		case "none":
			out.Approvals = mcpserver.Approvals{}
		default:
			return out, usagef("mcp: --approvals %q: want stdio, http or none", word)
		}
	}
	return out, nil
}

// errOrphaned says that the parent is gone.
var errOrphaned = errors.New("the parent process ended")

// The end on stdio takes less than two seconds (R29): the client's last calls have serveMost, the host has endMost.
const (
	serveMost = time.Second
	endMost   = 800 * time.Millisecond
)

// serveStdio serves the client at stdin and out until it goes, the parent dies or ctx ends.
func (a *app) serveStdio(ctx context.Context, s *mcpserver.Server, out *os.File) error {
	ctx, stop := withParent(ctx)
	defer stop()
	in := &ending{Reader: a.stdin, end: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(ctx, in, out) }() // ends with ctx or stdin, or with the process
	select {
	case err := <-done:
		return err
	case <-in.end:
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(serveMost):
		return context.Cause(ctx)
	}
}

// ending is a reader that says when it ended.
type ending struct {
	io.Reader
	once sync.Once
	end  chan struct{}
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		e.once.Do(func() { close(e.end) })
	}
	return n, err
}

// parentPoll is how often it is looked whether the parent lives.
const parentPoll = 400 * time.Millisecond

// withParent returns a context that ends when the parent process does (R29): a client that dies may leave its end of stdin
// open in another process.
func withParent(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	if parent <= 1 || runtime.GOOS == "windows" { // there is none, or its number stays the same
		return ctx, func() { cancel(nil) }
	}
	var wait sync.WaitGroup
	wait.Go(func() { // ends with ctx, which stop ends
		tick := time.NewTicker(parentPoll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if os.Getppid() != parent {
					cancel(errOrphaned)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() { cancel(nil); wait.Wait() }
}

// endMCP closes the server and the host. It waits for a bounded time: what has not ended by then ends with this process,
// plugins by their lifelines.
func (a *app) endMCP(s *mcpserver.Server, h *host.Host) {
	done := make(chan struct{})
	go func() { // ends with what it closes, or with the process
		defer close(done)
		if err := s.Close(); err != nil {
			a.warn("%v", err)
		}
		a.closeHost(h)
	}()
	select {
	case <-done:
	case <-time.After(endMost):
	}
}
