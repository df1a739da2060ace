// Package wire is the page of facts that a host and a plugin must agree on and
// that a .proto file cannot say.
//
// # Starting a plugin
//
// The host starts the plugin binary as a child process with
//
//   - stdin: the lifeline, a pipe whose write end only the host holds. Nothing but
//     the line below is written to it. When it ends, the host is gone or wants the plugin to
//     stop, and the plugin ends too, within [LifelineGrace].
//   - stdout: until the handshake, noise and then the one handshake line of
//     hashicorp/go-plugin; after it, output like stderr.
//   - stderr: the plugin's words. The host keeps and logs them.
//   - descriptor [ConnFD], which [EnvConn] names: one end of a socket pair, the
//     only connection on which the plugin serves gRPC. A plugin listens nowhere,
//     so that no stranger can call it: the network in its handshake is unix.
//   - descriptor [ConnOutFD], which [EnvConnOut] names: one end of another socket pair, to which the plugin may write in place
//     of the first one. It then says so by the address [OneWay] in its handshake; any other address is used for nothing, and
//     the first descriptor carries both ways. Two one-way sockets take fewer wake-ups; see package inherit.
//
// Where a process cannot inherit a connection, on Windows, [EnvConn] is [ConnLoopback]: the
// lifeline begins with one line, and the plugin serves one TLS connection on
// loopback, as package loopback says. The network in its handshake is then tcp.
//
// The environment holds [CookieKey] and go-plugin's own variables beside what the
// operator allowed. The plugin is ready when it has answered [Version] in the
// session's welcome.
package wire

import "time"

const (
	// Version is the wire version of this package: the proto package's major
	// version and go-plugin's application protocol version.
	Version = 1

	// CookieKey and CookieValue are go-plugin's magic cookie. They tell a plugin
	// that a host started it; they are no secret and no security.
	CookieKey = "TOOLHOST_PLUGIN"
	// CookieValue is the value of CookieKey.
	CookieValue = "toolplugin.v1"

	// EnvConn names the inherited connection's descriptor, in decimal, or is
	// ConnLoopback.
	EnvConn = "TOOLHOST_PLUGIN_CONN"
	// ConnLoopback as the value of EnvConn asks for a connection on loopback.
	ConnLoopback = "loopback"
	// ConnFD is the descriptor that the host uses for it.
	ConnFD = 3
	// EnvConnOut names the descriptor that the plugin may write to, in decimal.
	EnvConnOut = "TOOLHOST_PLUGIN_CONN_OUT"
	// ConnOutFD is the descriptor that the host uses for it.
	ConnOutFD = 4
	// OneWay is the address in the handshake of a plugin that writes to EnvConnOut's descriptor.
	OneWay = "one-way"

	// PluginName is the key of the gRPC plugin in go-plugin's plugin set.
	PluginName = "tools"

	// BinaryPrefix begins the file name of every plugin binary that is found by
	// searching a directory.
	BinaryPrefix = "toolplugin-"

	// Module is the Go module whose presence in a binary's build information
	// marks it as a plugin.
	Module = "github.com/toolhost/toolhost"
)

const (
	// MaxMessage is the default limit of one frame in bytes, in both directions.
	MaxMessage = 32 << 20
	// Window is the default credit of one call and direction in bytes.
	Window = 256 << 10
	// ChunkSize is the largest encoded frame that travels whole, and the size of
	// a chunk while other frames wait.
	ChunkSize = 16 << 10
	// MaxDelta is the largest input delta in bytes. A host cuts longer ones.
	MaxDelta = 64 << 10
	// MaxLog is the default limit of one log record in bytes; a longer message
	// is cut and marked.
	MaxLog = 64 << 10
	// LogQueue is how many log records wait in a plugin before it drops them.
	LogQueue = 1000

	// MaxViewRules and MaxViewPaths are the most rules of one declarative view, and
	// the most paths of all of them together.
	MaxViewRules = 64
	// MaxViewPaths see MaxViewRules.
	MaxViewPaths = 256
	// MaxViewDepth is the most steps of one path.
	MaxViewDepth = 64
	// MaxViewValue is the most bytes of the value that a rule puts in place.
	MaxViewValue = 64 << 10

	// LifelineGrace is how long a plugin may go on after its lifeline ended.
	LifelineGrace = time.Second
)
