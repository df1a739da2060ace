package pluginsdk

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/internal/cost"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// What one small call through ServeListener may allocate, the host's end of the session and gRPC on both sides included. Whoever raises
// a ceiling says here why.
var callCeiling = cost.Ceiling{Allocs: 46, Bytes: 3690}

// TestGuardCall holds the allocations of a call of a typed tool that looks at nothing but its input.
func TestGuardCall(t *testing.T) {
	h := serveTools(t, newTool("echo", func(_ context.Context, _ *Call, in city) (city, error) { return in, nil }))
	cost.Hold(t, callCeiling, func() {
		c, err := h.sess.Open(&pb.Open{Tool: "echo", CallId: "call-1", Run: true, TimeoutNs: 60e9, Input: []byte(`{"city":"Paris"}`)})
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Recv(t.Context())
		if err != nil || f.GetOutput() == nil {
			t.Fatal(f, err)
		}
		c.Close()
	})
}
