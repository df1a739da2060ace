package state

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// LiveHost is a host of this user that runs.
type LiveHost struct {
	PID     int          `json:"pid"` // as it was when the host said so; who wants to signal it checks Started too (K13)
	Started time.Time    `json:"started"`
	Program string       `json:"program,omitempty"` // what it runs in
	Plugins []LivePlugin `json:"plugins,omitempty"`
}

// LivePlugin is a plugin of a LiveHost.
type LivePlugin struct {
	Name  string `json:"name"`
	State string `json:"state,omitempty"` // a word of the host's
	PID   int    `json:"pid,omitempty"`   // 0 if it has no process
}

// Announcement makes others see this host. Its methods may be called at the same time.
type Announcement struct {
	dir  *Dir
	mu   sync.Mutex
	name string
	file *os.File // locked for as long as the host lives; nil after Close
}

const (
	hostsName = "hosts"
	// hostMax is the largest file of a host in bytes.
	hostMax = 1 << 20
	// hostTries is how often a file is read that its host writes meanwhile.
	hostTries = 20
	hostHead  = 2 * crc32.Size
)

// Announce makes a host seen by Hosts, until Close or the end of the process, however that comes: what tells is a lock that
// ends with it, never a process id (K13). It returns *TooLargeError if h takes more than 1 MiB.
func (d *Dir) Announce(h LiveHost) (*Announcement, error) {
	a := &Announcement{dir: d}
	if err := a.Update(h); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Update replaces what is said of the host. If its file was removed, it makes another. After Close it returns fs.ErrClosed.
func (a *Announcement) Update(h LiveHost) error {
	data, err := encodeHost(h)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil && a.name != "" {
		return fmt.Errorf("state directory: announcement: %w", fs.ErrClosed)
	}
	return a.dir.enter(hostsName, func(f folder) error {
		if a.file == nil || !f.is(a.name, a.file) {
			name, file, err := f.createHost(a.dir.lockWait)
			if err != nil {
				return err
			}
			a.release()
			a.name, a.file = name, file
		}
		_, err := a.file.WriteAt(data, 0)
		return f.wrap(err)
	})
}

// Close ends the announcement. It may be called again.
func (a *Announcement) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		a.name = "-" // closed
		return nil
	}
	err := a.dir.look(hostsName, func(f folder) error {
		if !f.is(a.name, a.file) {
			return nil
		}
		return f.remove(a.name)
	})
	a.release()
	a.file = nil
	return ignoreMissing(err)
}

// release gives up the file, if there is one.
func (a *Announcement) release() {
	if a.file != nil {
		unlock(a.file) // a child that is about to be started may have a copy of the file: closing is not enough
		a.file.Close()
	}
}

// Hosts lists the hosts of this user that live, those that were started first before the others, and removes what dead ones
// have left. It makes nothing.
func (d *Dir) Hosts() ([]LiveHost, error) {
	var hosts []LiveHost
	err := d.look(hostsName, func(f folder) error {
		names, err := f.names(pendingList)
		if err != nil {
			return err
		}
		for _, name := range names {
			if gone, err := f.removeUnused(name); gone || err != nil {
				continue // another call will remove what this one could not
			}
			if h, ok := f.host(name); ok {
				hosts = append(hosts, h)
			}
		}
		return nil
	})
	slices.SortFunc(hosts, func(a, b LiveHost) int { return a.Started.Compare(b.Started) })
	return hosts, ignoreMissing(err)
}

// createHost makes a host's file, and locks it.
func (f folder) createHost(wait time.Duration) (name string, file *os.File, err error) {
	for {
		var id [32]byte
		_, _ = rand.Read(id[:]) // never fails
		name = hex.EncodeToString(id[:])
		file, err = f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", nil, f.wrap(err)
		}
		err = f.await(name, wait, func() (bool, error) { return tryLock(file) })
		if err == nil && f.is(name, file) {
			return name, file, nil
		}
		file.Close()
		if err != nil {
			_ = f.root.Remove(name)
			return "", nil, err
		}
		// Somebody took it for a dead host's before it was locked.
	}
}

// host reads a host's file. The host may be writing it.
func (f folder) host(name string) (h LiveHost, ok bool) {
	for range hostTries {
		data, _, err := f.read(name, hostMax)
		if err != nil {
			return LiveHost{}, false
		}
		if h, ok = decodeHost(data); ok {
			return h, true
		}
		time.Sleep(time.Millisecond)
	}
	return LiveHost{}, false
}

// encodeHost makes a file: the length of the JSON, its checksum, the JSON. What follows is of an earlier, longer one.
func encodeHost(h LiveHost) ([]byte, error) {
	h.Started = h.Started.UTC()
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("state directory: announcement: %w", err)
	}
	if err := within("announcement", len(text), hostMax-hostHead); err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, hostHead+len(text)), uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(text))
	return append(b, text...), nil
}

func decodeHost(data []byte) (h LiveHost, ok bool) {
	if len(data) < hostHead {
		return LiveHost{}, false
	}
	size, sum, text := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[crc32.Size:]), data[hostHead:]
	if uint64(size) > uint64(len(text)) || crc32.ChecksumIEEE(text[:size]) != sum {
		return LiveHost{}, false
	}
	err := json.Unmarshal(text[:size], &h)
	return h, err == nil
}
