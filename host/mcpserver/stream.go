package mcpserver

import (
	"net/http"
	"sync"
	"time"
)

// writeWait is how long a client may take to read before its response is given up.
const writeWait = 30 * time.Second

// stream is the response to one request. While it is open and silent, comments go out on it (R38), so that no proxy takes the
// connection for dead.
type stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	header http.Header // the handler's, until it writes

	mu        sync.Mutex
	sent      bool // the status was sent
	commented bool // it was sent by a comment, before the handler wrote anything
	last      time.Time
	timer     *time.Timer // of the next comment; nil: there is none
	over      bool        // there are no more comments
}

func newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("X-Accel-Buffering", "no")
	return &stream{w: w, rc: http.NewResponseController(w), header: h.Clone(), last: time.Now()}
}

// Header is the handler's own.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader sends the status, unless a comment did.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status)
}

func (s *stream) begin(status int) {
	if s.sent {
		return
	}
	s.sent = true
	h := s.w.Header()
	for k, v := range s.header {
		h[k] = v
	}
	s.w.WriteHeader(status)
}

// Write writes a part of the body, in one piece. A body that is no event, after a comment, is sent as an event.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(http.StatusOK)
	s.last = time.Now()
	_ = s.rc.SetWriteDeadline(s.last.Add(writeWait)) // where it is not supported there is none
	if s.commented && s.header.Get("Content-Type") != "text/event-stream" {
		if _, err := s.w.Write([]byte("event: message\ndata: " + string(p) + "\n\n")); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return s.w.Write(p)
}

// FlushError sends what was written.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sent {
		return nil
	}
	return s.rc.Flush()
}

// beat writes comments until stop is called.
func (s *stream) beat(every time.Duration) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(every, func() { s.comment(time.Now(), every) })
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timer.Stop()
		s.over = true
	}
}

// comment writes one comment, if nothing was written for long.
func (s *stream) comment(now time.Time, every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if s.timer != nil {
		s.timer.Reset(every)
	}
	if now.Sub(s.last) < every/2 {
		return
	}
	if !s.sent {
		s.sent, s.commented = true, true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache, no-transform")
		s.w.WriteHeader(http.StatusOK)
	}
	s.last = now
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeWait))
	if _, err := s.w.Write([]byte(": still here\n\n")); err == nil {
		_ = s.rc.Flush()
	}
}
