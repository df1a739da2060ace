package state

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// Binary is a private copy of a program (S7). Until Close no sweeper of any process of this user removes it.
type Binary struct {
	Path   string // the copy's
	SHA256 [sha256.Size]byte

	// Source is what Store has read, the same before and after, and Began when it began to. They are zero in what Stored
	// returns; Source also where the system tells no identities. They are meant for IndexUpdate.SetFile.
	Source Identity
	Began  time.Time

	file atomic.Pointer[os.File] // the copy, opened for reading, with a share in its lock
}

// MaxBinary is the largest program that is copied, in bytes.
const MaxBinary = 1 << 30

// Binaries is the name of the subdirectory with the copies: all that a plugin may see of the state directory.
const Binaries = "binaries"

const (
	binariesName = Binaries
	// copyPrefix begins the name of a copy that is being written.
	copyPrefix = ".new-"
	copyMode   = 0o500
	// copyTries is how often a file is read that changes meanwhile.
	copyTries = 3
	// copyChunk is how much is written at once, while nobody can start a process.
	copyChunk = 1 << 20
)

// Store copies the program at src to where only this user can change it, named by the SHA-256 of the bytes that were
// copied, and returns the copy: what runs is what was hashed (S7). If the copy is there already, that one is kept. src is
// read once, and never written to; nothing that may run is ever opened for writing (L7, L8).
//
// It returns *ChangedError if src changes again and again while it is read, *TooLargeError beyond MaxBinary, and
// *UnusableError if copies cannot be kept or run where the state directory is (L10).
func (d *Dir) Store(src string) (*Binary, error) {
	var b *Binary
	err := d.enter(binariesName, func(f folder) (err error) {
		if err := f.executable(); err != nil {
			return err
		}
		for range copyTries {
			b, err = d.store(f, src)
			if _, changed := errors.AsType[*ChangedError](err); !changed {
				return err
			}
		}
		return err
	})
	return b, err
}

// Stored returns the copy with that hash, if it is there and whole, and fs.ErrNotExist if not. It makes nothing.
func (d *Dir) Stored(sum [sha256.Size]byte) (*Binary, error) {
	var b *Binary
	err := d.look(binariesName, func(f folder) (err error) {
		if err := f.executable(); err != nil {
			return err
		}
		b, err = d.stored(f, sum)
		return err
	})
	return b, err
}

// Close gives the copy up: it may be removed from now on. It may be called again, and at the same time.
func (b *Binary) Close() error {
	file := b.file.Swap(nil)
	if file == nil {
		return nil
	}
	unlock(file) // a child that is about to be started may have a copy of the file: closing is not enough
	return file.Close()
}

// executable refuses a folder whose programs cannot be run.
func (f folder) executable() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return f.wrap(err)
	}
	defer dir.Close()
	return mountedExec(f.path, dir)
}

// store copies src once.
func (d *Dir) store(f folder, src string) (*Binary, error) {
	in, info, err := openProgram(src)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	began := time.Now()
	name, out, err := f.createCopy(d.lockWait)
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			_ = f.root.Remove(name)
			unlock(out)
			out.Close()
		}
	}()
	h := sha256.New()
	size, err := f.copyIn(name, io.LimitReader(in, info.Size()+1), h)
	if err != nil {
		return nil, err
	}
	after, err := in.Stat()
	if err != nil {
		return nil, err
	}
	id, _ := Identify(info)
	if again, _ := Identify(after); id != again || size != info.Size() || after.Size() != size || !after.ModTime().Equal(info.ModTime()) {
		return nil, &ChangedError{src}
	}
	sum := [sha256.Size]byte(h.Sum(nil))
	err = out.Chmod(copyMode)
	if err == nil {
		err = f.root.Chtimes(name, time.Time{}, stamp(sum))
	}
	if err != nil {
		return nil, f.wrap(err)
	}
	// Of those that copy the same program, one puts it in place.
	release, err := f.lock(d.lockWait)
	if err != nil {
		return nil, err
	}
	defer release()
	b, err := d.stored(f, sum)
	if errors.Is(err, fs.ErrNotExist) {
		final := hex.EncodeToString(sum[:])
		if err := f.root.Rename(name, final); err != nil {
			return nil, f.wrap(err)
		}
		keep = true
		if createWrites { // a file that is open for writing is not executed
			unlock(out)
			out.Close()
			b, err = d.stored(f, sum)
		} else {
			b, err = &Binary{Path: filepath.Join(f.path, final), SHA256: sum}, nil
			b.file.Store(out)
		}
	}
	if err != nil {
		return nil, err
	}
	b.Source, b.Began = id, began
	return b, nil
}

// openProgram opens a file to be copied.
func openProgram(src string) (*os.File, os.FileInfo, error) {
	in, err := os.OpenFile(src, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := in.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("private copy: %s is not a regular file", src)
	case info.Size() == 0:
		err = fmt.Errorf("private copy: %s is empty", src)
	case info.Size() > MaxBinary:
		err = within("private copy of "+src, int(info.Size()), MaxBinary)
	}
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, info, nil
}

// createCopy makes an empty file for a copy, and returns it opened for reading, with a share in its lock: a sweeper
// leaves it alone as long as its writer lives.
func (f folder) createCopy(wait time.Duration) (name string, file *os.File, err error) {
	for {
		var id [8]byte
		_, _ = rand.Read(id[:]) // never fails
		name = copyPrefix + hex.EncodeToString(id[:])
		file, err = f.root.OpenFile(name, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", nil, f.wrap(err)
		}
		err = f.await(name, wait, func() (bool, error) { return tryShare(file) })
		if err == nil && f.is(name, file) {
			return name, file, nil
		}
		unlock(file)
		file.Close()
		if err != nil {
			_ = f.root.Remove(name)
			return "", nil, err
		}
		// A sweeper was faster than the lock.
	}
}

// copyIn writes what it reads to a file, and to h.
//
// The file is opened for each piece, under the lock that keeps this process from forking: a child that had its
// descriptor, if only until it runs its own program, would keep the copy from being run, by anybody ("text file busy",
// L7). No fork waits for more than one piece.
func (f folder) copyIn(name string, src io.Reader, h hash.Hash) (size int64, err error) {
	buf := make([]byte, copyChunk)
	for {
		n, err := io.ReadFull(src, buf)
		h.Write(buf[:n])
		if writeErr := f.append(name, buf[:n]); writeErr != nil {
			return size, f.wrap(writeErr)
		}
		size += int64(n)
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return size, nil
		default:
			return size, err
		}
	}
}

func (f folder) append(name string, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// stored opens a copy and takes a share in its lock. What is not whole is fs.ErrNotExist, and replaced by Store.
func (d *Dir) stored(f folder, sum [sha256.Size]byte) (*Binary, error) {
	name := hex.EncodeToString(sum[:])
	path := filepath.Join(f.path, name)
	missing := &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	info, err := f.root.Lstat(name)
	if err != nil || !isCopy(info, sum) {
		return nil, missing
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, f.wrap(err)
	}
	err = f.await(name, d.lockWait, func() (bool, error) { return tryShare(file) })
	if err == nil && (!f.is(name, file) || !f.survived(file, info, sum, d.booted())) {
		err = missing
	}
	if err != nil {
		unlock(file)
		file.Close()
		return nil, err
	}
	b := &Binary{Path: path, SHA256: sum}
	b.file.Store(file)
	return b, nil
}

// isCopy reports whether a file looks like a copy that nobody has touched.
func isCopy(info os.FileInfo, sum [sha256.Size]byte) bool {
	return info.Mode().IsRegular() && owned(info) && info.Size() > 0 && info.ModTime().Equal(stamp(sum)) &&
		(!modes || info.Mode().Perm() == copyMode)
}

// survived reports whether a copy is what it was. Copies are not brought to the disk when they are made: after the system
// has crashed, one can have its name and size, and other bytes. So one that is older than the start of the system is hashed
// again, once.
func (f folder) survived(file *os.File, info os.FileInfo, sum [sha256.Size]byte, boot time.Time) bool {
	id, ok := Identify(info)
	if changed := time.Unix(0, id.CTime); !ok || boot.IsZero() || changed.After(boot) && !changed.After(time.Now()) {
		return true
	}
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil || [sha256.Size]byte(h.Sum(nil)) != sum {
		return false
	}
	_ = f.root.Chtimes(hex.EncodeToString(sum[:]), time.Time{}, stamp(sum)) // sets the change time; if it cannot, it is hashed again
	return true
}

// stamp is the modification time of a copy. It comes from the hash: a copy that was written to has another.
func stamp(sum [sha256.Size]byte) time.Time {
	return time.Unix(1_000_000_000+int64(binary.BigEndian.Uint32(sum[:])>>3), 0)
}
