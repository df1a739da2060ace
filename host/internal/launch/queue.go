package launch

import "time"

// push queues a line, or drops it and counts (O3).
func (o *output) push(l Line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.silent {
		return
	}
	if !o.room() {
		o.dropped++
		return
	}
	l.Dropped, o.dropped = o.dropped, 0
	o.queue = append(o.queue, l)
	o.queued++
	if len(o.queue) == 1 {
		o.wake()
	}
}

// room waits for a full queue to be half empty as long as there is patience, and
// reports whether there is a place. o.mu is held.
func (o *output) room() bool {
	for len(o.queue) >= queueLines && !o.silent {
		now := time.Now()
		o.patience = min(patience, o.patience+now.Sub(o.refilled)/20)
		o.refilled = now
		if o.patience < time.Millisecond {
			return false
		}
		timer := time.NewTimer(o.patience)
		o.wakeAt = min(o.wakeAt, o.queued-queueLines/2)
		o.await(nil, timer.C)
		timer.Stop()
		waited := time.Since(now)
		if len(o.queue) < queueLines {
			waited /= 8 // the sink works, and only the machine is busy: what is said is rather late than lost (O4)
		}
		o.patience -= waited
		o.refilled = time.Now()
	}
	return true
}

// deliver calls the sink until both streams have ended and the queue is empty.
func (o *output) deliver() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.silent {
		switch {
		case len(o.queue) > 0:
			l := o.queue[0]
			o.queue[0] = Line{}
			o.queue = o.queue[1:]
			o.hand(l)
			if o.delivered++; o.delivered >= o.wakeAt {
				o.wake()
			}
		case !o.streams[0].ended || !o.streams[1].ended:
			o.await(nil, nil)
		case o.dropped > 0:
			l := Line{Time: time.Now(), Stream: "stderr", Dropped: o.dropped}
			o.dropped = 0
			o.hand(l)
		default:
			return
		}
	}
}

// hand calls the sink without the mutex.
func (o *output) hand(l Line) {
	o.mu.Unlock()
	defer o.mu.Lock()
	o.sink(l)
}

// broke is called when deliver is over, regularly or by a panic of the sink.
func (o *output) broke() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent = true
	o.queue = nil
	o.wake()
}

// drain waits until deliver is over, but not longer than d.
func (o *output) drain(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.silent {
		if !o.await(nil, timer.C) {
			return
		}
	}
}
