// Package launch is the host's side of one plugin process: start, connect, watch
// and stop. What it shares with the plugin is on the page of package wire.
//
// It is the only package of the host that imports go-plugin, and it uses little
// of it: the negotiation of the handshake, behind a runner of our own. go-plugin
// sees one checked line of stdout and an empty stderr (H1, H2), and is done with
// when the handshake is: it opens no connection and stops no process.
//
// # Goroutines
//
// One or two for the launcher, each locked to an OS thread that forks (K6): the
// second, which root has, is where the host's state is hidden. Five for a process:
// one reads each of stdout and stderr, one delivers lines, one waits for the end,
// and one reads the report of the helper that makes its sandbox, if there is one,
// and ends when that executes the plugin. gRPC has its own for the connection. A panic in one of ours is
// caught, kills that process and is its [Exit.Fault] (H6).
//
// # What ends a process that the host leaves behind
//
// The lifeline on stdin, which the plugin must read; on Linux the parent-death
// signal, whatever the plugin does; and with [Sandbox.PID] on Linux a pid
// namespace, whose end is the end of every descendant (K4). [Process.Uncovered]
// says what of that the machine refused. A host that dies in the instant between
// a fork and the child's request for the signal leaves that child to its lifeline.
// On Windows it is a job object, into which the plugin is born (P3). On macOS there
// is the lifeline and nothing else: kqueue would tell a parent of its children's end, not a child
// of its parent's.
//
// # Sandboxes
//
// A pid namespace and the hidden state are the fork's (K4, T42). Everything else of
// a [Sandbox] is made by package confine, in a small program between the fork and
// the plugin. What the machine refuses is reported, and refuses the start if it is
// not optional. A death by a limit is named in [Exit.Limit] (S11, S12).
//
// # What is left on disk
//
// On disk a host leaves nothing, but for one moment of a start: between the making and
// the removal of go-plugin's directory. A host killed then leaves it, empty, in TMPDIR;
// and where control groups are in use, their empty directories, which the next removes.
package launch
