package host

import (
	"context"
	"errors"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// maxAttempts is how many processes a call tries that was never sent to one (C3).
const maxAttempts = 3

// execute runs the call in the plugin and returns what the tool returned. A call that was never sent is
// tried again on a fresh process; one that may have been sent never is (C3).
func (r *run) execute(ctx context.Context, reqContext []byte) (*pb.Output, error) {
	if err := r.takeSlot(ctx); err != nil {
		return nil, err
	}
	defer r.freeSlot()
	if !r.asks() {
		r.begin(ctx, nil)
	}
	for n := 1; ; n++ {
		out, err := r.try(ctx, reqContext)
		e, failed := errors.AsType[*Error](err)
		if !failed || n == maxAttempts || !e.retry {
			return out, err
		}
	}
}

// try runs the call on one process.
func (r *run) try(ctx context.Context, reqContext []byte) (*pb.Output, error) {
	asks := r.asks()
	if r.streamed != nil {
		if a := r.streamed.attempt(ctx); a != nil {
			return a.finish(ctx, asks)
		}
	}
	if !asks {
		if err := r.spendForRun(); err != nil {
			return nil, err
		}
	}
	open := &pb.Open{Input: r.input.Bytes(), Run: !asks, Context: reqContext, Resume: r.resumeFrame()}
	if asks {
		open.Ask = r.entry.wants[pb.Callback_CALLBACK_NEEDS_APPROVAL] && !r.round.approved()
	}
	a, err := r.open(ctx, open)
	if err != nil {
		return nil, err
	}
	return a.await(ctx)
}

// resumeFrame is what the tool is told of its earlier round; nil: this is its first.
func (r *run) resumeFrame() *pb.Resume {
	switch {
	case r.round == nil || r.round.Payload == nil && !r.round.AskedBy:
		return nil
	case r.round.answer.hasData:
		return &pb.Resume{Data: r.round.answer.data, Payload: r.round.Payload}
	}
	return &pb.Resume{Payload: r.round.Payload}
}

// takeSlot waits until the tool's own limit of concurrent calls lets this one in.
func (r *run) takeSlot(ctx context.Context) error {
	if r.entry.slots == nil {
		return nil
	}
	select {
	case r.entry.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return r.ended(ctx, NotStarted)
	}
}

func (r *run) freeSlot() {
	if r.entry.slots != nil {
		<-r.entry.slots
	}
}
