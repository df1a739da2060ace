package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/workers"
)

// Config says what a Server serves and to whom. The zero value works but for Host.
type Config struct {
	Host         *host.Host // whose tools are served. It is not closed by the Server
	Name         string     // of the server, for clients; if empty, "toolhost"
	Version      string     // of the server, for clients; if empty, "0"
	Instructions string     // how a model should use the tools; if empty, clients get none
	Prefix       bool       // every tool is exported under plugin__id (R11)
	NameBudget   int        // characters that clients put in front of an exported name, which then has at most 64 less those (R8); at most 40; if zero, 15, as for mcp__toolhost__; if negative, none
	Profile      Profile    // what exported schemas may hold (R1)
	Result       int        // bytes of one result; a larger one is an error that says how to ask for less (R23). If zero, only the host's limit of an output holds
	Approvals    Approvals  // which clients may decide approvals; if zero, none (T28)
	Secrets      bool       // plugins may ask a client's person by a form for what looks like a password or another secret (T32)
	Context      []string   // keys of a request's _meta that become members of the call's request context; if empty, none does (T36)

	// Park is how long a call waits in memory for a client of 2026-07-28 to bring the answers to the tool's questions; if zero,
	// 5 min. At most 20 calls of a caller wait so, and 100 of all (T29).
	Park time.Duration
	// StateKey, of 32 bytes, seals the requestState of such clients. If empty, a random one is made: what a client holds then
	// ends with the server. With one, a call that is suspended can be answered after a restart too; one that waits in memory cannot.
	StateKey []byte

	Heartbeat   time.Duration // a call that is silent for so long sends progress (R37); if zero, 10 s; if negative, never
	SessionIdle time.Duration // an HTTP session without a request for so long ends (R40); if zero, 5 min
	Sessions    int           // HTTP sessions at once; if zero, 1,000. More are answered with 503
	Message     int           // bytes of one message from a client; if zero, 32 MiB
	KeepAlive   time.Duration // a comment on an open HTTP stream that is silent for so long (R38); if zero, 15 s

	// AllowedHosts are names, with or without a port, that the Host header may have beside this machine's own loopback names
	// and addresses; "*" allows every one (R41).
	AllowedHosts []string
	// AllowedOrigins are origins, such as https://app.example.com, from which browsers may call beside those of this server
	// itself (R42).
	AllowedOrigins []string
	// Verify says who the bearer of a token is. It may be called concurrently. If nil, HTTP clients need no token and are
	// callers of whom nothing is known. Its error is logged and never sent (T37). The caller's Channel and Session are set by
	// the Server.
	Verify func(ctx context.Context, token string) (host.Caller, error)

	Logger *slog.Logger // if nil, nothing is logged. Tokens and whole session ids never are
}

// Profile is a set of rules for exported schemas.
type Profile string

// The profiles.
const (
	ProfileFull        Profile = ""             // schemas as the tools have them
	ProfileStrictModel Profile = "strict-model" // what every model API takes (R1)
)

// Approvals says on which channels a client is asked to decide an approval. Where it is not, the call answers that it waits.
type Approvals struct {
	Stdio bool // ServeStdio
	HTTP  bool // Handler
}

// allow reports whether clients of a channel may decide.
func (a Approvals) allow(channel string) bool {
	return a.Stdio && channel == channelStdio || a.HTTP && channel == channelHTTP
}

// The channels of callers.
const (
	channelStdio = "mcp"
	channelHTTP  = "http"
)

// keepWorkers is how many goroutines wait for work at most.
const keepWorkers = 128

// Server serves the tools of a host to MCP clients. Its methods may be called concurrently.
type Server struct {
	cfg  Config
	host *host.Host
	log  *slog.Logger
	sdk  *mcp.Server

	calls    *calls
	modern   http.Handler // of the SDK
	sessions sessions
	lists    listings
	info     json.RawMessage // what modern clients get to know of the server with every result

	introduced introductions
	audience   audience

	life context.Context // ends when Close begins
	end  context.CancelFunc
	work sync.WaitGroup // every goroutine of the server but the workers

	workers workers.Pool[func()]
}

// New makes a server. The error says what of the configuration cannot work.
func New(cfg Config) (*Server, error) {
	if cfg.Host == nil {
		return nil, errors.New("mcpserver: Config.Host is nil: give the host whose tools are served")
	}
	s := &Server{cfg: cfg.withDefaults(), host: cfg.Host, workers: workers.Pool[func()]{Do: func(f func()) { f() }, Keep: keepWorkers}}
	s.log = s.cfg.Logger
	var err error
	if s.calls, err = newCalls(s.cfg, s.known, &s.workers); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.info = rawjson.Encode(map[string]string{"name": s.cfg.Name, "version": s.cfg.Version})
	s.introduced.known = map[string]bool{}
	s.lists.byOf = map[string]*listing{}
	s.sessions.byID = map[string]*session{}
	s.audience.byOf, s.audience.dirty = map[string]*listener{}, make(chan struct{}, 1)
	s.sdk = s.newSDK()
	s.modern = newModern(s.sdk)
	s.work.Go(s.watchHost)   // ends with the server or the host
	s.work.Go(s.tellChanges) // ends with the server
	return s, nil
}

// Close ends every session and stream and returns when none of the server's work goes on. The host is not closed.
func (s *Server) Close() error {
	s.end()
	for _, x := range s.sessions.close() {
		s.endSession(x)
	}
	s.calls.close()
	s.work.Wait()
	s.workers.Close()
	return nil
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Heartbeat, 10*time.Second)
	def(&c.SessionIdle, 5*time.Minute)
	def(&c.Park, 5*time.Minute)
	def(&c.KeepAlive, 15*time.Second)
	if c.Name == "" {
		c.Name = "toolhost"
	}
	if c.Version == "" {
		c.Version = "0"
	}
	if c.Sessions == 0 {
		c.Sessions = 1000
	}
	if c.NameBudget == 0 {
		c.NameBudget = len("mcp__toolhost__")
	}
	if c.Message == 0 {
		c.Message = 32 << 20
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// strict reports whether the profile is the strict one.
func (c Config) strict() bool { return c.Profile == ProfileStrictModel }

// versions are the protocol versions that can be spoken, the newest first.
func versions() []string { return mcp.SupportedProtocolVersions() }
