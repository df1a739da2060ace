package pluginsdk

import (
	"io"
	"os"
	"os/signal"
)

// end tells that the process is to end: its lifeline, standard input, ended (K4, K5), or it got SIGTERM.
type end struct {
	c       chan struct{} // gets a value for each reason; has room for both
	signals chan os.Signal
	ignored chan os.Signal
	done    chan struct{}
}

// watchEnd starts to watch. SIGINT is taken and forgotten, because Ctrl-C is for the
// host, which decides what becomes of its plugins (K7). So is SIGPIPE: a host that closed
// the other end of stdout ends the plugin through the lifeline, not in the middle of a print
// (K14). Both are taken rather than set to be ignored, which children would inherit.
func watchEnd() *end {
	e := &end{
		c: make(chan struct{}, 2), signals: make(chan os.Signal, 1),
		ignored: make(chan os.Signal, 1), done: make(chan struct{}),
	}
	signal.Notify(e.signals, stopSignals...)
	signal.Notify(e.ignored, ignoredSignals...)
	lifeline := os.Stdin
	// Ends when standard input does, or with the process: reads of a pipe cannot be taken back.
	go func() {
		// Any error means that the host is not there either.
		_, _ = io.Copy(io.Discard, lifeline)
		e.c <- struct{}{}
	}()
	// Ends with stop.
	go func() {
		select {
		case <-e.signals:
			e.c <- struct{}{}
		case <-e.done:
		}
	}()
	return e
}

func (e *end) stop() {
	signal.Stop(e.signals)
	signal.Stop(e.ignored)
	close(e.done)
}
