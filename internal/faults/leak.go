//go:build linux

package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
)

func leakDescriptors(_ context.Context, in Input) (Output, error) {
	n := orElse(in.Amount, 16)
	for i := range n {
		if _, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0); err != nil {
			return Output{}, fmt.Errorf("after %d descriptors: %w", i, err)
		}
	}
	return Output{fmt.Sprintf("opened %d descriptors", n)}, nil
}

func leakThread(context.Context, Input) (Output, error) {
	go func() { // never ends
		runtime.LockOSThread()
		select {}
	}()
	return Output{"started a thread"}, nil
}

// keeper keeps what it gets.
type keeper struct {
	mu   sync.Mutex
	kept [][]byte
}

func (k *keeper) keep(_ context.Context, in Input) (Output, error) {
	n := min(orElse(in.Amount, 1), 16)
	block := make([]byte, n<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.kept)*n < maxMemory {
		k.kept = append(k.kept, block)
	}
	return Output{fmt.Sprintf("keeps %d MiB more", n)}, nil
}

func leakChild(context.Context, Input) (Output, error) {
	if _, err := startChild(false, "brief"); err != nil {
		return Output{}, err
	}
	return Output{"started a process"}, nil
}
