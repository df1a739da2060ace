package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

var errInterrupted = errors.New("interrupted")

// withSignals returns a context that the first SIGINT or SIGTERM cancels. The second ends the process at
// once; plugins end with it, by their lifelines. stop gives the signals back.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { // ends with stop, which waits for it
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitCanceled)
		case <-done:
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		wait.Wait()
		cancel(nil)
	}
}
