//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// floods are those of its output.
func floods() []fault {
	return []fault{
		called("flood-stdout", "prints 64 MiB, or amount, to stdout before it answers", flood(os.Stdout)),
		called("flood-stderr", "prints 64 MiB, or amount, to stderr before it answers", flood(os.Stderr)),
	}
}

func flood(to *os.File) evil {
	return func(ctx context.Context, in Input) (Output, error) {
		block := append(bytes.Repeat([]byte("evil flood "), 93), '\n') // 1 KiB
		n := min(orElse(in.Amount, 64), 256) << 10
		for range n {
			if _, err := to.Write(block); err != nil || ctx.Err() != nil {
				return Output{}, err
			}
		}
		return Output{fmt.Sprintf("printed %d lines", n)}, nil
	}
}

// hogs take what the machine has.
func hogs() []fault {
	return []fault{
		called("memory-hog", "takes 1536 MiB of memory, or amount if that is less, and keeps it until it is cancelled", hogMemory),
		called("fork-bomb", "starts processes that start processes, 126 in all, and waits until it is cancelled", bomb),
	}
}

const maxMemory = 1536 // MiB

func hogMemory(ctx context.Context, in Input) (Output, error) {
	var taken [][]byte
	for range min(orElse(in.Amount, maxMemory), maxMemory) / 16 {
		block := make([]byte, 16<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		if taken = append(taken, block); ctx.Err() != nil {
			return forever(ctx)
		}
	}
	defer func() { taken[0][0] = 0 }()
	return forever(ctx)
}

const (
	bombDepth = 6 // every process starts two, so many times over: 126
	bombLife  = 8 * time.Second
)

func bomb(ctx context.Context, _ Input) (Output, error) {
	spareThreads(8)
	if err := split(bombDepth); err != nil {
		return Output{}, fmt.Errorf("the fork bomb was stopped: %w", err)
	}
	return forever(ctx)
}

// spareThreads makes threads that the runtime keeps: under a limit of tasks it would die of wanting one more, in place of the bomb.
func spareThreads(n int) {
	var there, done sync.WaitGroup
	release := make(chan struct{})
	there.Add(n)
	for range n {
		done.Go(func() { // ends with release; each has a thread of its own until then
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			there.Done()
			<-release
		})
	}
	there.Wait()
	close(release)
	done.Wait()
}

// split starts two processes of the bomb.
func split(depth int) error {
	for range 2 {
		if _, err := startChild(false, "bomb", fmt.Sprint(depth-1)); err != nil {
			return err
		}
	}
	return nil
}

// leaks take a little with every call and never give it back.
func leaks() []fault {
	return []fault{
		called("leak-descriptors", "opens 16 descriptors, or amount, with every call and never closes them", leakDescriptors),
		called("leak-threads", "starts a thread with every call, which never ends", leakThread),
		called("leak-memory", "keeps 1 MiB, or amount up to 16, with every call", (&keeper{}).keep),
		called("leak-children", "starts a process with every call, and never waits for it", leakChild),
	}
}

func orElse(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}
