//go:build linux

package launch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// C1: the end of the process is known by the wait, at once.
func TestC1_CrashToDone(t *testing.T) {
	transports(t, testC1CrashToDone)
}

func testC1CrashToDone(t *testing.T, l *Launcher) {
	best := time.Hour
	for range 5 {
		p := start(t, l, self(nil, conforming...))
		begin := time.Now()
		_ = syscall.Kill(p.PID(), syscall.SIGKILL)
		ended(t, p)
		best = min(best, time.Since(begin))
	}
	t.Logf("SIGKILL to Done, best of 5: %v", best)
	if best > 5*time.Second { // 50 ms on a quiet machine
		t.Errorf("took %v", best)
	}
}

// C4, C5: one gRPC code, four ends, told apart by the process's evidence.
func TestC4_C5_Evidence(t *testing.T) {
	t.Parallel()
	transports(t, testC4C5Evidence)
}

func testC4C5Evidence(t *testing.T, l *Launcher) {
	tests := map[string]struct {
		step  string
		kill  syscall.Signal
		cause Cause
		is    func(e Exit) bool
	}{
		"panic in a handler":   {step: "panic:boom", cause: CausePanic, is: func(e Exit) bool { return e.Status == 2 && strings.HasPrefix(e.Panic, "panic: boom\n") }},
		"panic in a goroutine": {step: "crash:aside", cause: CausePanic, is: func(e Exit) bool { return strings.Contains(e.Panic, "goroutine ") }},
		"fatal error": {step: "fatal", cause: CausePanic, is: func(e Exit) bool {
			return strings.HasPrefix(e.Panic, "fatal error: concurrent map ")
		}},
		"exit":   {step: "exit:7", cause: CauseExited, is: func(e Exit) bool { return e.Status == 7 && e.Panic == "" }},
		"killed": {kill: syscall.SIGKILL, cause: CauseMemory, is: func(e Exit) bool { return e.Status == -1 && e.Signal == "SIGKILL" && !e.Killed }},
		"signal": {kill: syscall.SIGSEGV, cause: CausePanic, is: func(e Exit) bool { return strings.HasPrefix(e.Panic, "SIGSEGV: ") }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t, l, self(nil, "eprint:before\n", shake, "serve", "stdin"))
			if tt.kill != 0 {
				_ = syscall.Kill(p.PID(), tt.kill)
			} else {
				err := p.Conn().Invoke(context.Background(), "/test/do", wrapperspb.String(tt.step), &wrapperspb.StringValue{})
				if status.Code(err) != codes.Unavailable {
					t.Errorf("call: %v", err)
				}
			}
			e := ended(t, p)
			if !e.Exited || e.Cause != tt.cause || !tt.is(e) || e.PeakRSS < 1<<20 || !strings.HasPrefix(string(e.Stderr), "before\n") {
				t.Errorf("%+v", e)
			}
			if len(e.Panic) > headLimit {
				t.Errorf("%d bytes of panic", len(e.Panic))
			}
		})
	}
}

// What the plugin had sent before it died is received, even by a reader that
// looks only after Done.
func TestC3_LastMessagesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	transports(t, testC3LastMessagesBeforeTheEnd)
}

func testC3LastMessagesBeforeTheEnd(t *testing.T, l *Launcher) {
	p := start(t, l, self(nil, shake, "serve", "stdin"))
	stream, err := p.Conn().NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test/do")
	if err != nil {
		t.Fatal(err)
	}
	const n = 500
	if err := stream.SendMsg(wrapperspb.String(fmt.Sprint("burst:", n))); err != nil {
		t.Fatal(err)
	}
	if e := ended(t, p); e.Status != 6 {
		t.Errorf("%+v", e)
	}
	for i := range n {
		var m wrapperspb.StringValue
		if err := stream.RecvMsg(&m); err != nil || !strings.HasPrefix(m.Value, fmt.Sprint(i, "z")) {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); err != io.EOF {
		t.Errorf("end: %v", err)
	}
}

// H6: a panic in any goroutine of ours is that process's fault, and ends it.
func TestH6_PanicInEachGoroutine(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"stdout", "stderr", "output", "wait"} {
		t.Run(victim, func(t *testing.T) {
			l := newLauncher(t)
			var armed atomic.Bool
			l.probe = func(goroutine string) {
				if armed.Load() && goroutine == victim {
					panic("injected")
				}
			}
			other := start(t, l, self(nil, conforming...))
			defer other.Kill()
			armed.Store(true)
			e := refuse(t, l, self(nil, "sleep:200", shake, "serve", "hang"))
			if e.Cause != CauseFault || !strings.Contains(e.Error(), "fault in the host: "+victim+" goroutine: panic: injected") || !e.Exit.Exited {
				t.Errorf("%v: %+v", e, e.Exit)
			}
			if err := healthy(other); err != nil {
				t.Errorf("the other plugin: %v", err)
			}
		})
	}
	t.Run("Output", func(t *testing.T) {
		spec := self(nil, shake, "serve", "hang")
		spec.Output = func(Line) { panic("sink") }
		p := start(t, newLauncher(t), spec)
		_ = p.Conn().Invoke(context.Background(), "/test/do", wrapperspb.String("print:x\n"), &wrapperspb.StringValue{})
		if e := ended(t, p); e.Cause != CauseFault || e.Fault != "output goroutine: panic: sink" {
			t.Errorf("%+v", e)
		}
		p.Flush(context.Background())
	})
	t.Run("Started", func(t *testing.T) {
		spec := self(nil, "hang")
		spec.Started = func(int) { panic("told") }
		if e := refuse(t, newLauncher(t), spec); e.Cause != CauseFault || !e.Exit.Killed {
			t.Errorf("%+v", e)
		}
	})
}
