//go:build linux

package main

import (
	"fmt"
	"sync/atomic"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

// book knows every call's outcome: one entry a call, made before the load begins, so that keeping it costs the same
// memory at the start and at the end. An entry is written by the call's own goroutine only.
type book struct {
	entries []atomic.Uint32
	next    atomic.Uint64 // the number of the next call
}

// fate is what became of a call.
type fate uint8

const (
	unused     fate = iota
	started         // and not ended
	answered        // with its own answer
	notStarted      // an error that says so; the others likewise
	unknown
	failed
	done
)

func newBook(calls int) *book { return &book{entries: make([]atomic.Uint32, calls)} }

// begin enters a call of the plugin and returns its number; false: the book is full.
func (b *book) begin(plugin int) (uint64, bool) {
	id := b.next.Add(1) - 1
	if id >= uint64(len(b.entries)) {
		return 0, false
	}
	b.entries[id].Store(uint32(plugin)<<8 | uint32(started))
	return id, true
}

// end enters the call's outcome.
func (b *book) end(id uint64, f fate) {
	e := &b.entries[id]
	e.Store(e.Load()&^0xff | uint32(f))
}

// entry is a call's plugin and fate.
func (b *book) entry(id uint64) (plugin int, f fate) {
	e := b.entries[id].Load()
	return int(e >> 8), fate(e)
}

// fateOf is the fate of a call that ended with the error.
func fateOf(o host.Outcome) fate {
	switch o {
	case host.NotStarted:
		return notStarted
	case host.Failed:
		return failed
	case host.Done:
		return done
	}
	return unknown
}

// audit is what the journals say of what the host said.
type audit struct {
	calls, lost int
	ran         int // records in the journals
	wrong       []string
	wrongs      int // wrong has the first of them
}

// audit compares every call's outcome with the journals of the plugins: one that is said not to have started must not
// be in them, one with an answer once, every other at most once, and all only in their own plugin's (C3).
func (b *book) audit(f *fleet) (audit, error) {
	var a audit
	runs := make([]uint8, min(b.next.Load(), uint64(len(b.entries))))
	a.calls = len(runs)
	for i, name := range f.names {
		err := subject.ReadJournal(f.journal(name), func(id uint64) {
			a.ran++
			if id >= uint64(len(runs)) {
				a.fault("plugin %s ran a call %d that nobody made", name, id)
				return
			}
			runs[id]++
			if plugin, _ := b.entry(id); plugin != i {
				a.fault("call %d of plugin %s ran in %s", id, f.names[plugin], name)
			}
		})
		if err != nil {
			return a, err
		}
	}
	for id, n := range runs {
		plugin, fate := b.entry(uint64(id))
		name := f.names[plugin]
		switch {
		case fate == started:
			a.lost++
		case n > 1:
			a.fault("call %d of plugin %s ran %d times", id, name, n)
		case fate == notStarted && n != 0:
			a.fault("call %d of plugin %s ran, but its error says not started", id, name)
		case (fate == answered || fate == done || fate == failed) && n != 1:
			a.fault("call %d of plugin %s is said to have run, but its journal does not have it", id, name)
		}
	}
	return a, nil
}

func (a *audit) fault(format string, args ...any) {
	const most = 20
	if a.wrongs++; len(a.wrong) < most {
		a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
	}
}
