package session

import (
	"context"
	"errors"
	"fmt"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

var (
	// ErrEnded is wrapped by every error that says that the session is over. The
	// cause is wrapped beside it.
	ErrEnded = errors.New("session: ended")

	// ErrClosed says that the call is over: closed by the peer with everything
	// received, or closed or cancelled on this side.
	ErrClosed = errors.New("session: call closed")

	// ErrUTF8 is wrapped by the error for an input delta that is not UTF-8, and
	// for an input that is sent while half a rune of the deltas is held back.
	ErrUTF8 = errors.New("not UTF-8")
)

// CancelError says that the host cancelled a call, or that its time is over. It
// is the cause of Call.Context in the plugin, and what Send and Recv of a
// cancelled call return there. errors.Is finds context.DeadlineExceeded in it
// if the reason is TIMEOUT, else context.Canceled.
type CancelError struct {
	// Reason is why.
	Reason pb.CancelReason
	// Message is for people; may be empty.
	Message string
}

// Error says who cancelled and why.
func (e *CancelError) Error() string {
	text := "session: call cancelled"
	if e.Reason == pb.CancelReason_CANCEL_REASON_TIMEOUT {
		text = "session: call timed out"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is the context error that fits the reason.
func (e *CancelError) Is(target error) bool {
	if e.Reason == pb.CancelReason_CANCEL_REASON_TIMEOUT {
		return target == context.DeadlineExceeded
	}
	return target == context.Canceled
}

// Direction is which way a frame went.
type Direction string

// The two directions, as an end sees them.
const (
	Sending   Direction = "send"
	Receiving Direction = "receive"
)

// TooLargeError says that a frame exceeds a limit (M1). A frame that was too
// large to send was not sent and its call goes on; one that was too large to
// receive was not stored (H3), and its call has lost it.
type TooLargeError struct {
	// Limit and Size are in bytes of the encoded frame.
	Limit, Size int
	// Direction is which way the frame went.
	Direction Direction
}

// Error names limit, size and direction.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("session: %s frame of %d bytes: over the limit of %d bytes", e.Direction, e.Size, e.Limit)
}

// FullError says that a frame found no room beside what is held already (Config.Held). It was not stored, and its call has lost
// it; a peer that sends less at once has not.
type FullError struct {
	// Limit is Config.Held, Held how much of it was taken, and Size the frame's, all in bytes.
	Limit, Held, Size int
}

// Error names all three.
func (e *FullError) Error() string {
	return fmt.Sprintf("session: receive frame of %d bytes: %d bytes of large frames are held already, and %d may be at once", e.Size, e.Held, e.Limit)
}

// StateError says that a frame does not fit the state of its call or of the
// session.
type StateError struct {
	// Frame is the kind of frame, such as "output"; State is the state, such as
	// "READY".
	Frame, State string
	// Reason says more; may be empty.
	Reason string
}

// Error names the frame and the state.
func (e *StateError) Error() string {
	text := "session: " + e.Frame + " in state " + e.State
	if e.Reason != "" {
		return text + ": " + e.Reason
	}
	return text + ": not allowed"
}

func endedBy(cause error) error { return fmt.Errorf("%w: %w", ErrEnded, cause) }
