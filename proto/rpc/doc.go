// Package rpc speaks gRPC over one connection that is there already: what a plugin and its host need of it, and with nothing in
// between. google.golang.org/grpc carries any number of calls to any number of places, and hands each message from goroutine to
// goroutine on its way: two on each side. Here a message is written by the goroutine that sends it, and the goroutine that has read it
// hands it to whom it is for, or does short work itself (Stream.Lull). Between two processes on one machine such handovers are much of what a small call takes.
//
// On the wire it is HTTP/2 (RFC 9113) as gRPC uses it (github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md): unary and
// bidirectional calls, deadlines, cancellation, both levels of flow control, status. Either end may be any other gRPC. Left out is what
// nobody here sends: compression, metadata, pushes, priorities.
//
// The peer is not trusted: every size is checked before there is memory for it, what a peer can make this end queue is bounded,
// and what breaks the protocol ends the connection, never the process.
package rpc
