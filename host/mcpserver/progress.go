package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// progressParams are the parameters of notifications/progress.
type progressParams struct {
	Token    json.RawMessage `json:"progressToken"` // as the client gave it
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
}

// step is how much a report is moved that does not increase, at least.
const step = 1e-6

// increase makes what is reported strictly increasing: MCP wants that, plugins need not do it. A number that cannot
// be increased any more is not reported. beyond tells that it is more than the total.
type increase struct {
	last float64
	any  bool
}

func (i *increase) next(p float64) (float64, bool) {
	if i.any && p <= i.last {
		p = i.last + math.Max(step, math.Abs(i.last)*1e-9)
	}
	if math.IsInf(p, 0) || math.IsNaN(p) || i.any && p <= i.last {
		return 0, false
	}
	i.last, i.any = p, true
	return p, true
}

// params are those of the notification of a report; ok is false for one that cannot be told.
func (i *increase) params(token json.RawMessage, p host.Progress) (params progressParams, ok bool) {
	value, ok := i.next(p.Progress)
	if !ok {
		return params, false
	}
	total := p.Total
	if total < value {
		total = 0 // a client may not like to have more than all of it
	}
	return progressParams{token, value, total, project.Clip(p.Message, maxProgressText)}, true
}

// maxProgressText is how many bytes of a report's message pass.
const maxProgressText = 4 << 10

// beat is the report of a plugin that is silent (R37).
func (i *increase) beat(token json.RawMessage) (progressParams, bool) {
	value, ok := i.next(i.last)
	return progressParams{Token: token, Progress: value}, ok
}

// validToken returns the progress token of a request's _meta, which is a string or an integer; nil: there is none.
func validToken(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || len(raw) > maxToken {
		return nil
	}
	if c := raw[0]; c == '"' || c == '-' || c >= '0' && c <= '9' {
		return raw
	}
	return nil
}

// maxToken is how long a progress token may be.
const maxToken = 1 << 10

// bucket lets so many through at once, and then so many a second.
type bucket struct {
	most, left, perSecond float64
	at                    time.Time
}

func newBucket(most, perSecond float64) *bucket {
	return &bucket{most: most, left: most, perSecond: perSecond}
}

// take reports whether one may pass, and if not, when it may.
func (b *bucket) take(now time.Time) (ok bool, at time.Time) {
	if !b.at.IsZero() {
		b.left = min(b.most, b.left+now.Sub(b.at).Seconds()*b.perSecond)
	}
	b.at = now
	if b.left >= 1 {
		b.left--
		return true, now
	}
	return false, now.Add(time.Duration((1 - b.left) / b.perSecond * float64(time.Second)))
}

// pace tells one request what happens to its call, neither too often nor too seldom.
type pace struct {
	notify func(method string, params any)
	token  json.RawMessage // nil: the client wants no progress (R37)
	level  slog.Level      // the least of the records that it wants
	every  time.Duration   // of heartbeats; not positive: none
	bucket *bucket
	last   time.Time // when it was told of progress, or when the request came
}

// pace makes one for a request.
func (c *calls) pace(r request) *pace {
	p := &pace{notify: r.notify, token: r.meta.token(), level: never, every: c.cfg.Heartbeat, bucket: newBucket(burst, perSecond), last: time.Now()}
	level := r.level
	if r.era == project.Modern {
		level = r.meta.text("io.modelcontextprotocol/logLevel")
	}
	if least, ok := threshold(level); ok {
		p.level = least
	}
	if p.notify == nil {
		p.token, p.level = nil, never
	}
	return p
}

// How many notifications a call may send: so many at once, and so many a second after that.
const (
	burst     = 64
	perSecond = 50
)

// tell sends what waits, and a heartbeat if the plugin was silent for too long. It returns when it has to be called
// again at the latest; the zero time: it need not be.
func (p *pace) tell(f *flight, now time.Time) (next time.Time) {
	for {
		n, ok := f.peek()
		if !ok {
			break
		}
		if ok, at := p.bucket.take(now); !ok {
			next = at
			break
		}
		f.told()
		if n.log != nil {
			p.notify("notifications/message", n.log)
		} else if params, ok := f.increase.params(p.token, *n.progress); ok {
			p.notify("notifications/progress", params)
			p.last = now
		}
	}
	if p.token == nil || p.every <= 0 {
		return next
	}
	beat := p.last.Add(p.every)
	if !now.Before(beat) {
		if params, ok := f.increase.beat(p.token); ok {
			p.notify("notifications/progress", params)
		}
		p.last, beat = now, now.Add(p.every)
	}
	return sooner(next, beat)
}

// end sends what may still be sent of a call that is over, and says what could not be.
func (p *pace) end(f *flight) {
	p.tell(f, time.Now())
	if n := f.lost(); n > 0 {
		p.notify("notifications/message", logParams{"warning", f.tool.Plugin, rawjson.Quote(fmt.Sprintf("%d records were dropped", n))})
	}
}
