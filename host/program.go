package host

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/state"
	"github.com/toolhost/toolhost/proto/wire"
)

// program is one version of a plugin: the bytes that run. They are a private copy of the plugin's file,
// made while they were hashed (S7), so the file may be replaced at any time (L7, L8). A script runs in place:
// what it loads lies beside it, and was never hashed.
type program struct {
	id     state.Identity // of the plugin's file when it was read
	sum    [32]byte       // zero for a plugin that is dialled
	path   string         // what is executed
	binary *state.Binary  // the private copy; nil: none could be made, or it is a script
	note   string         // why there is no private copy; empty if that is as it should be
	key    state.Key      // of its manifest
	good   atomic.Bool    // a process of it completed a call
	users  atomic.Int32   // the plugin, once each for current and previous, and every process
}

// digest is the hash in hex; empty if there is none.
func (g *program) digest() string {
	if g == nil || g.sum == [32]byte{} {
		return ""
	}
	return hex.EncodeToString(g.sum[:])
}

// conditions is the key in hex.
func (g *program) conditions() string {
	if g == nil {
		return ""
	}
	return hex.EncodeToString(g.key[:])
}

// short is what people read of the hash.
func (g *program) short() string { return fmt.Sprintf("%.12s", cmp.Or(g.digest(), "?")) }

// hold keeps the private copy until release.
func (g *program) hold() *program {
	if g != nil {
		g.users.Add(1)
	}
	return g
}

func (g *program) release() {
	if g != nil && g.users.Add(-1) == 0 && g.binary != nil {
		g.binary.Close()
	}
}

// look returns the program that the next process runs: what is at the plugin's path now, or what is known
// already if that did not change, or was refused. It is held: the caller releases it.
func (p *plugin) look() (*program, error) {
	if p.cfg.Unusable != nil {
		return nil, p.cfg.Unusable
	}
	if p.cfg.Dial != nil {
		return (&program{}).hold(), nil
	}
	info, err := os.Stat(p.cfg.Path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s does not exist", p.cfg.Path)
		}
		return nil, err
	}
	if err := checkPlaces(p.cfg); err != nil {
		return nil, err
	}
	id, known := state.Identify(info)
	p.mu.Lock()
	if g := p.program; known && g != nil && (g.id == id || p.refused == id) {
		defer p.mu.Unlock()
		return g.hold(), nil
	}
	p.mu.Unlock()
	read, err := p.read(id)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.program; g != nil && g.sum == read.sum { // only touched
		g.id = read.id
		read.release()
		return g.hold(), nil
	}
	return read, nil
}

// unchanged reports whether the file is the one that was tried last. p.mu is held.
func (p *plugin) unchanged() bool {
	if p.cfg.Dial != nil || p.tried == nil {
		return p.cfg.Dial != nil
	}
	info, err := os.Stat(p.cfg.Path)
	if err != nil {
		return false
	}
	id, known := state.Identify(info)
	return known && id == p.tried.id
}

// read makes a program of the file at the plugin's path.
func (p *plugin) read(id state.Identity) (*program, error) {
	if f, ok := p.host.cache.file(p.cfg.Path); ok && f.Is(id) {
		if err := p.pinned(f.SHA256); err != nil {
			return nil, err
		}
	}
	begun := time.Now()
	g := (&program{id: id, path: p.cfg.Path}).hold()
	if err := g.copy(p, id); err != nil {
		return nil, err
	}
	err := p.pinned(g.sum)
	if pins := p.cfg.SHA256 != "" || p.host.cfg.Lock != nil; err == nil && pins && g.note != "" {
		err = errors.New("its hash is pinned, but " + g.note)
	}
	if g.id != (state.Identity{}) {
		p.host.cache.learnFile(p.cfg.Path, state.File{ID: g.id, SHA256: g.sum}, begun)
	}
	if err != nil {
		g.release()
		return nil, err
	}
	g.key = p.manifestKey(g.sum)
	return g, nil
}

// copy hashes the file, and makes the private copy if it can be made.
func (g *program) copy(p *plugin, id state.Identity) error {
	if script, err := isScript(p.cfg.Path); err != nil {
		return err
	} else if script {
		g.sum, err = hashFile(p.cfg.Path)
		return err
	}
	var err error
	if f, ok := p.host.cache.file(p.cfg.Path); ok && f.Is(id) {
		if g.binary, err = p.host.state.Stored(f.SHA256); err == nil {
			g.sum, g.path = g.binary.SHA256, g.binary.Path
			return nil
		}
	}
	g.binary, err = p.host.state.Store(p.cfg.Path)
	if err == nil {
		g.sum, g.path = g.binary.SHA256, g.binary.Path
		if g.binary.Source != (state.Identity{}) {
			g.id = g.binary.Source // the file may be another one by now
		}
		p.host.sweep()
		return nil
	}
	g.note = "the bytes that run are not a private copy: " + err.Error()
	g.sum, err = hashFile(p.cfg.Path)
	return err
}

// pinned compares a hash with what the configuration and the lock expect (S8).
func (p *plugin) pinned(sum [32]byte) error {
	got := hex.EncodeToString(sum[:])
	if want := p.cfg.SHA256; want != "" && !strings.EqualFold(got, want) {
		return fmt.Errorf("%s has SHA-256 %s, but the configuration expects %s; set sha256 to the new value to accept it", p.cfg.Path, got, want)
	}
	if p.host.cfg.Lock == nil {
		return nil
	}
	switch want, listed := p.host.cfg.Lock[p.cfg.Name]; {
	case !listed:
		return fmt.Errorf("%s is not in the lock file; toolhost lock adds it (SHA-256 %s)", p.cfg.Path, got)
	case !strings.EqualFold(got, want):
		return fmt.Errorf("%s has SHA-256 %s, but the lock file expects %s; toolhost lock accepts the new one", p.cfg.Path, got, want)
	}
	return nil
}

// manifestKey is under which the manifest of a program is remembered: what it registers may depend on the
// bytes, on what they are given, and on the wire. The hash is keyed: settings may hold secrets.
func (p *plugin) manifestKey(sum [32]byte) state.Key {
	conditions, err := json.Marshal(struct {
		Sum      [32]byte
		Name     string // whose tools they are: they are compared with what was accepted of it
		Path     string // argv[0], by which a program may choose what it is
		Args     []string
		Env      []string
		Settings []byte
		Sandbox  Sandbox
		Wire     int
		Checks   int
	}{sum, p.cfg.Name, p.cfg.Path, p.cfg.Args, p.cfg.Env, p.cfg.Settings, p.cfg.Sandbox, wire.Version, checksVersion})
	if err != nil {
		return state.Key{} // cannot happen: plain data
	}
	mac := hmac.New(sha256.New, p.host.cache.salt())
	mac.Write(conditions)
	return state.Key(mac.Sum(nil))
}

// checksVersion grows whenever a check of manifests is added: what was clean before may not be.
const checksVersion = 2

// isScript reports whether a file names its interpreter.
func isScript(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return false, fmt.Errorf("%s cannot be read, and what runs must be hashed; chmod u+r %[1]s", path)
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.Equal(head, []byte("#!")), nil
}

func hashFile(path string) (sum [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	return [32]byte(h.Sum(nil)), nil
}
