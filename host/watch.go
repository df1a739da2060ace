package host

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// PluginEvent is a change of a plugin's state.
type PluginEvent struct {
	Time    time.Time `json:"time"`
	Plugin  string    `json:"plugin"`
	State   State     `json:"state"`
	PID     int       `json:"pid,omitempty"`     // of the process that it is about
	Program string    `json:"program,omitempty"` // SHA-256 in hex of its binary
	Text    string    `json:"text,omitempty"`    // what happened, for people
	Err     error     `json:"-"`                 // of a death, or of a start or a replacement that did not work; an *Error or *ExitError
	Dropped int       `json:"dropped,omitempty"` // events before this one that the reader was too slow for
}

// ToolsChanged is the Text of the event that follows when the tools of a plugin that can be listed became others: they were
// learned, changed, accepted, or are gone. Whoever lists them after the event sees the new ones.
const ToolsChanged = "its tools changed"

// maxEvents is how many events wait for a slow reader; then the oldest go.
const maxEvents = 1024

// Watch yields the state of every plugin as it is, then every change of one, until ctx or the host ends. It
// may be called, and its result used, any number of times at once. A slow reader delays nobody: the oldest
// events of more than 1024 are dropped and counted.
func (h *Host) Watch(ctx context.Context) iter.Seq[PluginEvent] {
	return func(yield func(PluginEvent) bool) {
		w := &watcher{more: make(chan struct{}, 1)}
		defer h.hub.add(w)()
		for s := range h.Plugins() {
			if !yield(PluginEvent{Time: time.Now(), Plugin: s.Name, State: s.State, PID: s.PID, Program: s.Program, Text: s.Error}) {
				return
			}
		}
		for {
			for _, e := range w.take() {
				if !yield(e) {
					return
				}
			}
			select {
			case <-w.more:
			case <-ctx.Done():
				return
			case <-h.life.Done():
				for _, e := range w.take() {
					if !yield(e) {
						return
					}
				}
				return
			}
		}
	}
}

// hub hands events to whoever watches.
type hub struct {
	mu       sync.Mutex
	watchers []*watcher
}

// watcher is one reader of events.
type watcher struct {
	mu      sync.Mutex
	events  []PluginEvent
	dropped int
	more    chan struct{} // holds a token when there may be events
}

func (b *hub) add(w *watcher) (remove func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = append(b.watchers, w)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watchers = slices.DeleteFunc(b.watchers, func(x *watcher) bool { return x == w })
	}
}

// send never blocks.
func (b *hub) send(e PluginEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.watchers {
		w.put(e)
	}
}

func (w *watcher) put(e PluginEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == maxEvents {
		w.events = w.events[1:]
		w.dropped++
	}
	w.events = append(w.events, e)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *watcher) take() []PluginEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.events
	if len(events) > 0 {
		events[0].Dropped = w.dropped
	}
	w.events, w.dropped = nil, 0
	return events
}
