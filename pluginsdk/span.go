package pluginsdk

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Span runs fn and reports it to the host as a span of the call's trace: its
// time, and its error if it failed. A Span within fn's context is a child of this one. It
// returns what fn returns; without a trace it just runs fn (C-9).
func (c *Call) Span(ctx context.Context, name string, fn func(ctx context.Context) error) (err error) {
	parent, _ := ctx.Value(spanKey{}).([]byte)
	id := binary.BigEndian.AppendUint64(nil, rand.Uint64()|1) // never all zero
	start := time.Now()
	panicked := true
	defer func() {
		span := &pb.Span{
			Name: cut(name, maxPanicHead), StartNs: start.UnixNano(), EndNs: start.Add(time.Since(start)).UnixNano(),
			SpanId: id, ParentId: parent,
		}
		if err != nil {
			span.Error = cut(err.Error(), maxSmallText)
		} else if panicked {
			span.Error = "panic"
		}
		// A lost span must not change what the tool does.
		_ = c.send(context.Background(), &pb.Frame{Body: &pb.Frame_Span{Span: span}})
	}()
	err = fn(context.WithValue(ctx, spanKey{}, id))
	panicked = false
	return err
}

type spanKey struct{}
