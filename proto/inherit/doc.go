// Package inherit is the connection that a plugin process inherits from its host: two one-way socket pairs.
//
// One socket for both ways would do, and costs more. Go's poller registers a socket for reading and writing alike, and a
// Unix socket tells its writer whenever the peer has read something: each message would wake the process that sent it
// once more than needed. Here each end reads from a socket on which it never writes, and writes to one that the
// poller does not know.
package inherit
