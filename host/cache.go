package host

import (
	"context"
	"crypto/rand"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/internal/state"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// cache is what this host knows of files and of what they registered: the index of the state directory as it
// was when the host opened, and what was learned since (D5, D7). What is learned is written behind, by one
// goroutine at a time.
type cache struct {
	host *Host

	mu      sync.Mutex
	index   *state.Index
	own     []byte // the salt
	files   map[string]state.File
	known   map[state.Key]*state.Manifest // nil: to be forgotten
	pending []func(*state.IndexUpdate)
	writing bool
}

// openCache reads the index. One that cannot be read is empty.
func openCache(h *Host) *cache {
	index, err := h.state.ReadIndex()
	if err != nil {
		h.log.Debug("what was known of the plugins cannot be read", "error", err)
		index = &state.Index{}
	}
	return &cache{host: h, index: index, files: map[string]state.File{}, known: map[state.Key]*state.Manifest{}}
}

// salt keys the hashes under which manifests are remembered. It is remembered like one itself.
func (c *cache) salt() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own != nil {
		return c.own
	}
	if m, ok := c.index.Manifest(saltKey); ok && len(m.Bytes) == 32 {
		c.own = m.Bytes
		return c.own
	}
	c.own = make([]byte, 32)
	_, _ = rand.Read(c.own) // it never fails
	salt := c.own
	c.write(func(u *state.IndexUpdate) {
		if m, ok := u.Old.Manifest(saltKey); !ok || len(m.Bytes) != 32 { // else another host was first, and what is learned here is lost
			u.SetManifest(saltKey, state.Manifest{Bytes: salt})
		}
	})
	return c.own
}

var saltKey state.Key

// file is what is known of the file at a path. It holds for a file of the same identity only.
func (c *cache) file(path string) (state.File, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.files[path]; ok {
		return f, true
	}
	return c.index.File(path)
}

// learnFile remembers what was learned of a file, of which reading began then.
func (c *cache) learnFile(path string, f state.File, begun time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.index.File(path); ok && known == f && len(c.files) == 0 {
		return
	}
	if old, ok := c.files[path]; ok && old == f {
		return
	}
	c.files[path] = f
	c.write(func(u *state.IndexUpdate) { u.SetFile(path, f, begun) })
}

// manifest is what was registered under a key, when it was first, and what was marked of it; nil: nothing is
// known.
func (c *cache) manifest(key state.Key) (m *pb.Manifest, since time.Time, mark byte) {
	c.mu.Lock()
	known, ok := c.known[key]
	if !ok {
		if found, there := c.index.Manifest(key); there {
			known = &found
		}
	}
	c.mu.Unlock()
	if known == nil || len(known.Bytes) == 0 {
		return nil, time.Time{}, 0
	}
	m = new(pb.Manifest)
	if err := proto.Unmarshal(known.Bytes[1:], m); err != nil {
		return nil, time.Time{}, 0
	}
	return m, known.At, known.Bytes[0]
}

// learnManifest remembers what a program registered.
func (c *cache) learnManifest(key state.Key, m *pb.Manifest, clean, settled bool) {
	mark := []byte{0}
	if clean {
		mark[0] |= markClean
	}
	if settled {
		mark[0] |= markSettled
	}
	text, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(mark, m)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := state.Manifest{Bytes: text, At: time.Now(), Dynamic: m.GetDynamic()}
	c.known[key] = &known
	c.write(func(u *state.IndexUpdate) { u.SetManifest(key, known) })
}

// settle marks a remembered manifest as one that grew beyond nothing.
func (c *cache) settle(key state.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known[key]
	if !ok {
		found, there := c.index.Manifest(key)
		if !there {
			return
		}
		known = &found
	}
	if known == nil || len(known.Bytes) == 0 {
		return
	}
	settled := *known
	settled.Bytes = slices.Clone(known.Bytes)
	settled.Bytes[0] |= markSettled
	c.known[key] = &settled
	c.write(func(u *state.IndexUpdate) { u.SetManifest(key, settled) })
}

// The bits of the first byte of a remembered manifest.
const (
	markClean   = 2 // every tool was taken, and nothing was found in any definition
	markSettled = 4 // it is its plugin's baseline, or no more than that (T19)
)

// forget forgets what was registered under a key.
func (c *cache) forget(key state.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[key] = nil
	c.write(func(u *state.IndexUpdate) { u.ForgetManifest(key) })
}

// write has the change written. c.mu is held.
func (c *cache) write(change func(*state.IndexUpdate)) {
	c.pending = append(c.pending, change)
	if !c.writing {
		c.writing = c.host.spawn(c.flush)
	}
}

// flush is a goroutine that ends when nothing is left to write. Nothing depends on what it writes.
func (c *cache) flush() {
	for {
		c.mu.Lock()
		changes := c.pending
		if c.pending = nil; len(changes) == 0 {
			c.writing = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		err := c.host.state.UpdateIndex(func(u *state.IndexUpdate) {
			for _, change := range changes {
				change(u)
			}
		})
		if err != nil {
			c.host.log.Debug("what was learned of the plugins is not remembered", "error", err)
		}
	}
}

// sweep removes, behind, the private copies that nobody needs: neither current nor previous of any known
// path, nor held by a host that lives.
func (h *Host) sweep() {
	h.spawn(func() { // ends when the directory was looked through once
		index, err := h.state.ReadIndex()
		if err == nil {
			_, err = h.state.Sweep(index.Binaries())
		}
		if err != nil {
			h.log.Debug("private copies are not swept", "error", err)
		}
	})
}

// record begins the census once.
func (h *Host) record() {
	h.recorded.Do(func() { h.work.Go(func() { h.census(h.life) }) })
}

// census keeps the state directory's record of this host, which toolhost status of this user shows. It ends
// with the host. A host that lives for a moment only is not recorded.
func (h *Host) census(life context.Context) {
	_, _ = h.state.Hosts() // removes what killed hosts have left (D10)
	select {
	case <-time.After(censusDelay):
	case <-life.Done():
		return
	}
	record, err := h.state.Announce(h.liveHost())
	if err != nil {
		h.log.Debug("this host is not shown by toolhost status", "error", err)
		return
	}
	defer record.Close()
	for range h.Watch(life) {
		if err := record.Update(h.liveHost()); err != nil {
			h.log.Debug("this host is not shown as it is by toolhost status", "error", err)
		}
	}
}

const censusDelay = 200 * time.Millisecond

// liveHost is what the record says.
func (h *Host) liveHost() state.LiveHost {
	live := state.LiveHost{PID: os.Getpid(), Started: h.opened}
	live.Program, _ = os.Executable()
	for s := range h.Plugins() {
		live.Plugins = append(live.Plugins, state.LivePlugin{Name: s.Name, State: string(s.State), PID: s.PID})
	}
	return live
}
