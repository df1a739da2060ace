//go:build unix

package pluginsdk

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// S10: a plugin serves its own service and nothing else: no reflection, and none of go-plugin's services.
func TestS10_NoReflection(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	for _, method := range []string{
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
		"/plugin.GRPCController/Shutdown",
		"/plugin.GRPCBroker/StartStream",
		"/plugin.GRPCStdio/StreamStdio",
		"/grpc.health.v1.Health/Check",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		stream, err := c.cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err == nil {
			_ = stream.SendMsg(&emptypb.Empty{}) // the answer tells
			err = stream.RecvMsg(&emptypb.Empty{})
		}
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
		cancel()
	}
	c.open("env", "{}").output()
}

// M8: a host that connects long after the handshake finds its plugin as it was.
func TestM8_LateConnect(t *testing.T) {
	t.Parallel()
	c := startChild(t, "serve")
	c.stdout.waitFor(t, handshakeLine)
	time.Sleep(6 * time.Second) // go-plugin's broker gives up after 5 s
	c.connect(t)
	c.open("env", "{}").output()
	c.lifeline.Close()
	if status := c.status(t); status != 0 {
		t.Errorf("status %d: %s", status, c.stderr)
	}
}
