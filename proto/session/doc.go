// Package session carries many calls on one stream between a host and a plugin.
// The same code is at both ends. The frames are defined in toolplugin.v1; this
// page is the rules that a .proto file cannot say. An end in another language
// keeps to them and to the numbers of proto/wire.
//
// # Frames and calls
//
// A stream moves batches of frames. A frame belongs to a call, or to the
// connection (call 0). The host chooses a call's id; ids grow, in the order in
// which the first piece of each open is sent, and are never used twice. The plugin frees an
// id with closed, or with closed=true in the outcome. A frame with a body that an end does not
// know is ignored. A frame for a call that is over or was never opened is
// dropped and counted as stray. A frame that breaks a rule of this page is
// dropped and counted as a violation. Only a batch that is no protobuf message ends the session.
//
// # Connection
//
//	state     host sends           plugin sends         then
//	NEW       hello                                     HELLO
//	HELLO                          welcome              SERVING; stays HELLO if refused
//	SERVING   drain                                     DRAINING
//	any       ping pong            ping pong log tools_changed
//
// The host opens calls in SERVING only; a plugin also takes those that drain has overtaken.
// Of every limit in hello and welcome the smaller one holds, from the welcome on.
//
// # States of a call
//
//	state     host sends                     plugin sends                    then
//	NEW       open                                                           OPEN, READY (with input), RUNNING (with run)
//	OPEN      input_delta                                                    INPUT
//	          input                                                          READY, RUNNING (with run)
//	INPUT     input_delta                                                    INPUT
//	          input                                                          READY, RUNNING (with run)
//	READY     run, resume (if no asked comes)                                RUNNING
//	                                         asked (if ask or views)         ASKED
//	ASKED     run                                                            RUNNING
//	RUNNING                                  output                          OUTPUT
//	                                         failed, suspended               ENDED
//	OUTPUT    accepted (if confirm, once)                                    OUTPUT
//	          derive (if confirm, once)                                      DERIVING
//	DERIVING                                 derived                         OUTPUT
//	OPEN to RUNNING                          failed                          ENDED
//	OPEN to RUNNING                          progress, write, question       the same
//	OPEN to RUNNING  answer                                                  the same
//	INPUT, READY, RUNNING                    delta_view                      the same
//	OPEN to ENDED                            span                            the same
//	any       cancel                         closed                          CLOSED (by closed)
//
// So exactly one of output, failed and suspended is sent, and one that closes leads to
// CLOSED at once. input_delta needs open.streaming. run and ask exclude each other. A call that open or
// input does not start, and whose open has ask or views, gets exactly one asked, and run only after it. resume
// in open implies run unless asked comes. At most 16 questions wait for an answer, those counted whose
// answer could not be sent yet. Frames of the
// host that cross the outcome are stray, not violations.
//
// A delta_view belongs to the oldest input_delta that has none for its audience, which is one of open.views; the
// plugin sends it before asked and before it executes. A host that streams receives while it sends: a plugin without credit
// for a delta_view takes no input_delta.
//
// # Cancel
//
// After cancel the host sends nothing more on the call and drops what comes,
// until closed. The plugin drops what it has queued and answers with closed,
// also if it has freed the id already: the end may have been in chunks that the
// host did not join.
//
// # Sizes
//
// An encoded frame has at most Limits.Message bytes; a question at most 4 MiB of
// them; input_delta, progress, span and the frames without content at most 64 KiB and 64 bytes. Text and
// attributes of a log record have at most Limits.Log bytes. A frame over wire.ChunkSize
// travels in chunks of its encoding; log, hello and welcome in chunks of call 0, and no frame
// of the same call but closed comes in between. The first chunk announces the size. A
// receiver checks it before it stores anything, and its memory grows with what
// arrives (H3). A frame whose chunks do not add up is lost, and so is one over the
// limit: its call's Recv says so.
//
// # Credit
//
// input_delta, write, delta_view and span cost credit: the bytes of data or text (of a span: name,
// attributes and error), plus 32, and at most half of Limits.Window. Each call and direction starts with
// Limits.Window, and window returns what the receiver's owner took, once half a window has
// gathered. So any frame can go as soon as everything before it was taken.
// Other frames need no credit: the states bound them, and of progress only the
// latest is kept, at both ends. Log records wait in a queue of wire.LogQueue in
// the plugin, and are dropped and counted beyond it (O3).
//
// Frames in chunks cost credit of the connection, too, if the peer's limits have held: before its first chunk is sent, one costs
// its size, at most half of held, and window on call 0 returns that once the receiver is through with it: its owner has taken the next
// frame, or the call is over. A frame without credit waits, and so does what its call sends after it; log, hello and welcome never do. A
// frame that did not wait, and has no room, is lost. A frame has at most 64 views, and one that comes in chunks at most 1,000 messages
// and elements of lists.
//
// # Order
//
// Frames of one call and direction arrive in the order in which they were sent; calls
// are served in turn, a few KiB or one chunk at a time, at most two chunks of a
// call in a batch. A chunk has wire.ChunkSize bytes; while nothing else waits to be sent, it may be as large as a batch
// (MaxBatch). A receiver takes any size. cancel, window, ping, pong, hello, welcome, drain and tools_changed pass
// everything. A call's log records are sent before its outcome (O4).
//
// # Ends
//
// When the stream ends, or Close is called, whatever was received can still be
// taken; then every call fails with ErrEnded. There is no way back: the owner
// makes a new session, as after a crash.
package session
