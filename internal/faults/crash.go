//go:build linux

package main

import (
	"context"
	"os"
	"runtime/debug"
	"syscall"
	"unsafe"
)

// crashes are the ways in which a process ends in the middle of a call.
func crashes() []fault {
	return []fault{
		called("panic", "panics in its tool", func(context.Context, Input) (Output, error) { panic("evil: in the tool") }),
		called("panic-goroutine", "panics in a goroutine of its own, which nothing recovers", func(ctx context.Context, _ Input) (Output, error) {
			go panic("evil: in a goroutine") // ends with the process
			return forever(ctx)
		}),
		called("exit", "exits with status 3", func(context.Context, Input) (Output, error) {
			_, _ = os.Stderr.WriteString("evil: giving up\n")
			os.Exit(3)
			return Output{}, nil
		}),
		called("segv", "writes to memory that is not its own", func(ctx context.Context, _ Input) (Output, error) {
			writeWild()
			return forever(ctx)
		}),
		called("segv-signal", "does the same and dies of SIGSEGV, as a program in C does", func(ctx context.Context, _ Input) (Output, error) {
			if err := defaultAction(syscall.SIGSEGV); err != nil {
				return Output{}, err
			}
			writeWild()
			return forever(ctx)
		}),
		called("stack-overflow", "calls itself until its stack is full", func(context.Context, Input) (Output, error) {
			debug.SetMaxStack(16 << 20)
			return Output{string(rune(recurse(0)))}, nil
		}),
	}
}

// forever returns when the call is cancelled.
func forever(ctx context.Context) (Output, error) {
	<-ctx.Done()
	return Output{}, context.Cause(ctx)
}

// recurse ends long after the stack does.
//
//go:noinline
func recurse(n int) int {
	if n < 0 {
		return n
	}
	return recurse(n+1) + n
}

// writeWild makes the processor fault at an address that is mapped for reading only: the kernel raises the
// signal, which it does for process 1 of a pid namespace too.
func writeWild() {
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	mem[0] = 1
}

// defaultAction takes a signal away from Go's runtime.
func defaultAction(sig syscall.Signal) error {
	var action [4]uint64 // handler SIG_DFL, flags, restorer, mask
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
