package state

import "time"

// Identity is what the system says of a file without reading it. Two that are
// the same, and not zero, are the same bytes, if the first was taken when that
// was still to be relied on: see settled.
type Identity struct {
	Dev, Inode   uint64
	Size         int64 // bytes
	MTime, CTime int64 // nanoseconds since 1970
}

// settle is how long before its file is read the change time of an identity must be.
const settle = 100 * time.Millisecond

// settled reports whether any later change to the file will change its identity,
// if its bytes were read from the given time on.
//
// A change time is only as fine as the system's clock tick (10 ms at worst; the
// size may stay the same too): a file that is changed, read, and changed again
// within one tick has the same identity both times, and would be taken for what it
// was for ever. If its last change was longer ago than any tick when the reading
// began, the next one gets another time. This is also why CTime is part of it:
// programs can set the other time at will.
func (id Identity) settled(began time.Time) bool {
	return id != Identity{} && !began.IsZero() && id.CTime <= began.Add(-settle).UnixNano()
}
