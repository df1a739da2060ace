package session

import (
	"testing"

	"github.com/toolhost/toolhost/internal/cost"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// What one small call may allocate on both sides together, its frames and their encoding included. It is measured on an
// in-memory stream. Whoever raises a ceiling says here why.
var callCeiling = cost.Ceiling{Allocs: 27, Bytes: 3480}

// TestGuardCall holds the allocations of a call that is answered at once.
func TestGuardCall(t *testing.T) {
	open := func(c *Call, o *pb.Open) {
		_ = c.Context()
		if err := c.Send(t.Context(), outputFrame(o.GetInput())); err != nil {
			t.Error(err)
		}
	}
	e := connect(t, Config{}, Config{}, open)
	input := make([]byte, 200)
	cost.Hold(t, callCeiling, func() {
		if err := echoOnce(e.host, input); err != nil {
			t.Fatal(err)
		}
	})
}
