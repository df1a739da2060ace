package session

// fifo is a queue whose elements can be found again by number: the n-th element
// that was ever pushed has the number n, counted from 0.
type fifo[T any] struct {
	items  []T
	head   int
	popped uint64
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

// push appends v and returns its number.
func (q *fifo[T]) push(v T) uint64 {
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
	return q.popped + uint64(q.len()) - 1
}

// front is the oldest element; it must exist.
func (q *fifo[T]) front() *T { return &q.items[q.head] }

// back is the newest element, or nil.
func (q *fifo[T]) back() *T {
	if q.len() == 0 {
		return nil
	}
	return &q.items[len(q.items)-1]
}

// at is element number n, or nil if it was popped.
func (q *fifo[T]) at(n uint64) *T {
	if n < q.popped || n-q.popped >= uint64(q.len()) {
		return nil
	}
	return &q.items[q.head+int(n-q.popped)]
}

func (q *fifo[T]) pop() T {
	v := q.items[q.head]
	var zero T
	q.items[q.head] = zero
	q.head++
	q.popped++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// reset drops every element and its memory.
func (q *fifo[T]) reset() {
	q.popped += uint64(q.len())
	q.items, q.head = nil, 0
}
