package rpc

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestStress: many streams of every kind at once, of which many are cancelled at any moment, leave nothing behind but a connection
// that works; what arrives is what was sent.
func TestStress(t *testing.T) {
	for _, p := range pairings {
		t.Run(p.name, func(t *testing.T) {
			client, server := join(t)
			i := newImpl()
			i.began, i.ended = make(chan struct{}, 10_000), make(chan error, 10_000)
			cc := p.start(t, client, server, i)
			var group sync.WaitGroup
			for w := range 16 {
				group.Go(func() {
					r := rand.New(rand.NewPCG(uint64(w), 1))
					for range 40 {
						ctx, cancel := context.WithCancel(within(t))
						if r.IntN(2) == 0 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(5000))*time.Microsecond)
						}
						later := time.AfterFunc(time.Duration(r.IntN(5000))*time.Microsecond, cancel)
						switch r.IntN(4) {
						case 0:
							_, err := do(ctx, cc, "wait", filled(r.IntN(1000)))
							if c := status.Code(err); c != codes.Canceled && c != codes.DeadlineExceeded {
								t.Errorf("wait: %v", err)
							}
						case 1:
							b := filled(r.IntN(200_000))
							if got, err := do(ctx, cc, "echo", b); err == nil && !bytes.Equal(got, b) {
								t.Errorf("echo: %d bytes of %d", len(got), len(b))
							} else if c := status.Code(err); c != codes.OK && c != codes.Canceled && c != codes.DeadlineExceeded {
								t.Errorf("echo: %v", err)
							}
						default:
							later.Stop()
							if err := chatter(ctx, cc, r, cancel); err != nil {
								t.Errorf("chat: %v", err)
							}
						}
						later.Stop()
						cancel()
					}
				})
			}
			group.Wait()
			if _, err := do(within(t), cc, "echo", nil); err != nil {
				t.Error(err)
			}
			if c, ok := cc.(*Client); ok {
				if n := len(c.c.all()); n > 0 {
					t.Errorf("%d streams are left", n)
				}
			}
		})
	}
}

// chatter sends and receives until ctx ends, by cancel at any moment.
func chatter(ctx context.Context, cc grpc.ClientConnInterface, r *rand.Rand, cancel func()) error {
	st, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test/chat")
	if err != nil {
		return ended(ctx, err)
	}
	turns := r.IntN(20)
	var m wrapperspb.BytesValue
	for n := range turns {
		b := filled(r.IntN(30_000))
		if err := st.SendMsg(wrapperspb.Bytes(b)); err != nil && err != io.EOF {
			return ended(ctx, err)
		}
		if n == turns-1 && r.IntN(2) == 0 {
			cancel()
		}
		if err := st.RecvMsg(&m); err != nil {
			return ended(ctx, err)
		}
		if !bytes.Equal(m.GetValue(), b) {
			return status.Errorf(codes.DataLoss, "%d bytes of %d", len(m.GetValue()), len(b))
		}
	}
	if err := st.CloseSend(); err != nil {
		return err
	}
	if err := st.RecvMsg(&m); err != io.EOF {
		return ended(ctx, err)
	}
	return nil
}

// ended is err unless ctx's end explains it.
func ended(ctx context.Context, err error) error {
	at, timed := ctx.Deadline() // the server may have seen it first
	late := ctx.Err() != nil || timed && !time.Now().Before(at)
	if c := status.Code(err); late && (c == codes.Canceled || c == codes.DeadlineExceeded) {
		return nil
	}
	return err
}
