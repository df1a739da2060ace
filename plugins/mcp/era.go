package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// agreement is what the handshake with a server brought.
type agreement struct {
	modern  bool   // the era from 2026-07-28 on: no session, every request says who asks
	version string // of the protocol
	server  string // its name and version, as it says

	tools, listChanged, logging bool // what it offers
}

// The versions that are spoken, the newest first.
var (
	modernVersions = []string{"2026-07-28"}
	legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}
)

// How long an answer to server/discover is waited for before the server is taken for a legacy one (R34). Over HTTP silence says little: a
// server that does not know the question answers with an error.
const (
	probeTime     = 2 * time.Second
	probeTimeHTTP = 10 * time.Second
)

// errEra says that the server does not speak the era.
var errEra = errors.New("it does not speak this era of the protocol")

// handshake agrees with a server on an era and a version. open makes a connection; it is called again for a server that did not survive
// the question for its era. known is the last agreement, or nil. The peer is open only if err is nil.
func handshake(ctx context.Context, era string, known *agreement, open func() (*peer, error)) (*peer, agreement, error) {
	p, err := open()
	if err != nil {
		return nil, agreement{}, err
	}
	legacy := era == "legacy" || era != "modern" && known != nil && !known.modern
	if legacy {
		return finish(ctx, p, initialize)
	}
	if era == "modern" || known != nil {
		return finish(ctx, p, discover)
	}
	patience := probeTimeHTTP
	if _, stdio := linkOf(p); stdio {
		patience = probeTime
	}
	probe, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	a, err := discover(probe, p)
	cancel()
	switch {
	case err == nil:
		return settled(ctx, p, a)
	case ctx.Err() != nil || refused(err):
		p.close()
		return nil, a, err
	}
	if lost, dead := errors.AsType[*lostError](err); dead && lost.again {
		p.close()
		if p, err = open(); err != nil { // R34: it died of the question
			return nil, a, err
		}
		return finish(ctx, p, initialize)
	}
	if !errors.Is(err, errSilent) {
		return finish(ctx, p, initialize)
	}
	return afterSilence(ctx, p, open)
}

var errSilent = errors.New("it did not answer in time")

// afterSilence tries initialize with a server that did not answer server/discover: with that process, which may only be slow to start, and
// if that is of no use with another one.
func afterSilence(ctx context.Context, p *peer, open func() (*peer, error)) (*peer, agreement, error) {
	half := ctx
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		half, cancel = context.WithTimeoutCause(ctx, time.Until(end)/2, errSilent)
		defer cancel()
	}
	a, err := initialize(half, p)
	if err == nil {
		return settled(ctx, p, a)
	}
	if e, ok := errors.AsType[*rpcError](err); ok {
		if a, again := discover(ctx, p); again == nil { // it was only slow, and does not know initialize
			return settled(ctx, p, a)
		}
		p.close()
		return nil, a, e
	}
	p.close()
	if ctx.Err() != nil || refused(err) {
		return nil, a, err
	}
	if p, err = open(); err != nil {
		return nil, a, err
	}
	return finish(ctx, p, initialize)
}

// refused reports whether another way of opening would not help: the server could not be reached at all, or wants another credential.
func refused(err error) bool {
	lost, ok := errors.AsType[*lostError](err)
	return ok && !lost.again && !errors.Is(err, errEra)
}

func finish(ctx context.Context, p *peer, open func(context.Context, *peer) (agreement, error)) (*peer, agreement, error) {
	a, err := open(ctx, p)
	if err != nil {
		p.close()
		return nil, a, err
	}
	return settled(ctx, p, a)
}

// settled ends the handshake: it tells the link, and the server what a legacy one is to be told.
func settled(ctx context.Context, p *peer, a agreement) (*peer, agreement, error) {
	p.link.settle(ctx, p, a)
	if a.modern {
		return p, a, nil
	}
	err := p.notify(ctx, "notifications/initialized", nil)
	if err != nil {
		err = p.unsent(true, fmt.Errorf("notifications/initialized: %w", err))
		p.close()
		return nil, a, err
	}
	return p, a, nil
}

// discover asks a server of the modern era what it is. If it wants another version, it gets one that both know.
func discover(ctx context.Context, p *peer) (agreement, error) {
	version := modernVersions[0]
	for tries := 0; ; tries++ {
		a := agreement{modern: true, version: version}
		raw, err := p.request(ctx, rpc{method: "server/discover", modern: version, params: func(int64) json.RawMessage {
			return withMeta(nil, metaOf(version))
		}})
		var e *rpcError
		if errors.As(err, &e) && e.code == codeUnsupported && tries < 2 {
			if version = common(e.data, "supported"); version != "" {
				continue
			}
		}
		if err != nil {
			return a, err
		}
		if a.read(raw) != nil {
			return a, fmt.Errorf("server/discover: the answer is odd: %w", errEra)
		}
		if v := common(raw, "supportedVersions"); v != "" {
			a.version = v
		} else {
			return a, fmt.Errorf("server/discover: no version in common: %w", errEra)
		}
		return a, nil
	}
}

// common is the newest modern version that the member of the object lists and is spoken here, or "".
func common(object json.RawMessage, member string) string {
	var members map[string]json.RawMessage
	var theirs []string
	if json.Unmarshal(object, &members) != nil || json.Unmarshal(members[member], &theirs) != nil {
		return ""
	}
	for _, v := range modernVersions {
		if slices.Contains(theirs, v) {
			return v
		}
	}
	return ""
}

// initialize opens a session of the legacy era.
func initialize(ctx context.Context, p *peer) (agreement, error) {
	raw, err := p.request(ctx, rpc{method: "initialize", params: func(int64) json.RawMessage {
		return rawjson.Encode(map[string]any{"protocolVersion": legacyVersions[0], "capabilities": capabilities, "clientInfo": clientInfo})
	}})
	if err != nil {
		return agreement{}, err
	}
	var a agreement
	if err := a.read(raw); err != nil {
		return a, fmt.Errorf("initialize: the answer is odd: %w", err)
	}
	if !slices.Contains(legacyVersions, a.version) {
		return a, fmt.Errorf("initialize: the server wants version %q of the protocol: %v are spoken here", runes.Cut(a.version, 40), legacyVersions)
	}
	return a, nil
}

// read takes what is of use from the answer of either handshake.
func (a *agreement) read(raw json.RawMessage) error {
	var r map[string]json.RawMessage
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if v := r["protocolVersion"]; v != nil && !a.modern {
		if err := json.Unmarshal(v, &a.version); err != nil {
			return err
		}
	}
	var caps map[string]json.RawMessage
	_ = json.Unmarshal(r["capabilities"], &caps) // of another type: none
	a.tools = present(caps["tools"])
	a.logging = present(caps["logging"])
	var tools map[string]json.RawMessage
	_ = json.Unmarshal(caps["tools"], &tools)
	a.listChanged = string(tools["listChanged"]) == "true"
	var info struct{ Name, Version string }
	if json.Unmarshal(r["serverInfo"], &info) == nil {
		a.server = runes.Cut(info.Name+" "+info.Version, 200)
	}
	return nil
}

func present(raw json.RawMessage) bool {
	return raw != nil && string(raw) != "null" && string(raw) != "false"
}

// clientInfo and capabilities are what every server learns. Questions are put to whoever made the call.
var (
	clientInfo   = json.RawMessage(`{"name":"toolhost","title":"toolhost","version":"1"}`)
	capabilities = json.RawMessage(`{"elicitation":{"form":{}},"sampling":{},"roots":{}}`)
)

// metaPrefix begins the members of _meta that are about one connection, such as who the server is.
const metaPrefix = "io.modelcontextprotocol/"

// metaOf is what every request of the modern era carries in _meta.
func metaOf(version string) map[string]json.RawMessage {
	return map[string]json.RawMessage{
		metaPrefix + "protocolVersion": rawjson.Quote(version), metaPrefix + "clientInfo": clientInfo, metaPrefix + "clientCapabilities": capabilities,
	}
}

// withMeta is params with meta in its _meta.
func withMeta(params, meta map[string]json.RawMessage) json.RawMessage {
	all := map[string]json.RawMessage{"_meta": rawjson.Encode(meta)}
	maps.Copy(all, params)
	return rawjson.Encode(all)
}
