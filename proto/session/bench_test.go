package session

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// echo answers each call at once with its input, on a goroutine of its own as an SDK does.
func echo(c *Call, open *pb.Open) {
	go func() { // ends when the frame is queued
		_ = c.Context()
		_ = c.Send(context.Background(), outputFrame(open.GetInput()))
	}()
}

func outputFrame(data []byte) *pb.Frame {
	return &pb.Frame{Body: &pb.Frame_Output{Output: &pb.Output{Output: data, Closed: true}}}
}

// BenchmarkEcho is one small call: open with input and run, output that closes.
func BenchmarkEcho(b *testing.B) {
	for _, inFlight := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("memory/%d", inFlight), func(b *testing.B) {
			benchEcho(b, connect(b, Config{}, Config{}, echo), inFlight)
		})
	}
	for _, inFlight := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("grpc/%d", inFlight), func(b *testing.B) {
			benchEcho(b, dialDirect(b, Config{}, Config{}, echo), inFlight)
		})
	}
}

func benchEcho(b *testing.B, e ends, inFlight int) {
	input := bytes.Repeat([]byte("x"), 200)
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for w := range inFlight {
		n := b.N / inFlight
		if w < b.N%inFlight {
			n++
		}
		group.Go(func() {
			for range n {
				if err := echoOnce(e.host, input); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func echoOnce(s *Session, input []byte) error {
	ctx := context.Background()
	c, err := s.Open(&pb.Open{Tool: "echo", CallId: "call_1", Input: input, Run: true, TimeoutNs: 60e9})
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := c.Recv(ctx)
	if err != nil {
		return err
	}
	if len(f.GetOutput().GetOutput()) != len(input) {
		return fmt.Errorf("got %v", f)
	}
	return nil
}

// BenchmarkDeltas is one call with deltas of 16 bytes, flat out.
func BenchmarkDeltas(b *testing.B) {
	done := make(chan error, 1)
	e := dialDirect(b, Config{}, Config{}, func(c *Call, _ *pb.Open) {
		go func() { // ends with the input
			for {
				f, err := c.Recv(c.Context())
				if err != nil || f.GetInput() != nil {
					done <- err
					c.Close()
					return
				}
			}
		}()
	})
	ctx := context.Background()
	c, err := e.host.Open(&pb.Open{Tool: "t", Streaming: true})
	if err != nil {
		b.Fatal(err)
	}
	text := []byte("0123456789abcdef")
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := c.Send(ctx, deltaFrame(text)); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Send(ctx, inputFrame("{}")); err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOutput16MiB is one large output.
func BenchmarkOutput16MiB(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 16<<20)
	e := dialDirect(b, Config{}, Config{}, func(c *Call, _ *pb.Open) {
		go func() { _ = c.Send(context.Background(), outputFrame(body)) }() // ends when the frame is queued
	})
	b.SetBytes(int64(len(body)))
	for range b.N {
		c, err := e.host.Open(&pb.Open{Tool: "t", Run: true})
		if err != nil {
			b.Fatal(err)
		}
		if f, err := c.Recv(context.Background()); err != nil || len(f.GetOutput().GetOutput()) != len(body) {
			b.Fatal(f.GetCall(), err)
		}
	}
}

func deltaFrame(text []byte) *pb.Frame {
	return &pb.Frame{Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: text}}}
}

func inputFrame(text string) *pb.Frame {
	return &pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: []byte(text), Run: true}}}
}
