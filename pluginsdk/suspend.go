package pluginsdk

import (
	"errors"
	"fmt"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Suspend ends this run of the call until somebody answers. Execute returns what
// it returns, wrapped or not; only then is the call suspended. payload is encoded
// as JSON and says what is asked; it fits the tool's SuspendSchema. The call goes on, in another
// process perhaps, as a new run of Execute with the same input, in which [Call.Resume] yields the answer.
func (c *Call) Suspend(payload any) error { return newSuspension(payload, false) }

// AskApproval is Suspend for a decision in place of data: the call goes on if a
// person approves, and [Call.Resume] then reports true and leaves v alone.
func (c *Call) AskApproval(payload any) error { return newSuspension(payload, true) }

// Resume reports whether this run goes on with a suspended call, and decodes the
// answer into v, a pointer. false is a first run. null is an answer: it leaves v at
// what null decodes to.
func (c *Call) Resume(v any) (bool, error) {
	if c.resumed == nil {
		return false, nil
	}
	if c.resumed.Data == nil { // an approval
		return true, nil
	}
	if err := decode(c.resumed.Data, v); err != nil {
		return true, fmt.Errorf("resume data: %w", err)
	}
	return true, nil
}

// SuspendPayload decodes into v, a pointer, what the latest Suspend was given. It
// reports false on a first run (SU-3, SU-6).
func (c *Call) SuspendPayload(v any) (bool, error) {
	if c.resumed == nil || len(c.resumed.Payload) == 0 {
		return false, nil
	}
	if err := decode(c.resumed.Payload, v); err != nil {
		return true, fmt.Errorf("suspend payload: %w", err)
	}
	return true, nil
}

// suspension is the error that suspends a call.
type suspension struct {
	payload  []byte
	err      error // payload could not be encoded
	approval bool
}

func newSuspension(payload any, approval bool) error {
	s := &suspension{approval: approval}
	s.err = guard("the suspend payload", func() (err error) {
		s.payload, err = encode(payload)
		return err
	})
	return s
}

func (s *suspension) Error() string {
	if s.err != nil {
		return fmt.Sprintf("suspend payload: %v", s.err)
	}
	return "the call is suspended; Execute must return this error"
}

func (s *suspension) frame(views []*pb.DerivedView) *pb.Frame {
	return &pb.Frame{Body: &pb.Frame_Suspended{Suspended: &pb.Suspended{
		Payload: s.payload, Approval: s.approval, Closed: true, Views: views,
	}}}
}

func asSuspension(err error) (*suspension, bool) {
	var s *suspension
	return s, errors.As(err, &s)
}
