//go:build unix

package host

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// maxPlaceLinks is how many links a path may have, as in the system.
const maxPlaceLinks = 40

// walk resolves an absolute path as the system does and judges everything that it meets.
func (w *placeWalk) walk(abs string) error {
	if w.fine == nil {
		w.fine = map[string]bool{}
	}
	root, err := os.Lstat("/")
	if err != nil {
		return err
	}
	who := newOwners(root)
	if err := who.judge("/", root); err != nil {
		return err
	}
	at, rest, links := "/", strings.Split(abs, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at) // at has no links
			continue
		}
		next := filepath.Join(at, name) // without links, but for its last part
		if w.fine[next] {
			at = next
			continue
		}
		info, err := os.Lstat(next)
		if err != nil {
			return err
		}
		if err := who.judge(next, info); err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			w.fine[next] = info.IsDir()
			at = next
			continue
		}
		if links++; links > maxPlaceLinks {
			return &os.PathError{Op: "lstat", Path: abs, Err: syscall.ELOOP}
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}

// owners are the users and the groups that may change what a plugin is.
type owners struct {
	users, groups []uint32
}

// newOwners are root, who owns the root directory wherever that has another number (as in a user namespace), and the user.
func newOwners(root os.FileInfo) owners {
	o := owners{users: []uint32{0, uint32(os.Geteuid())}, groups: []uint32{0, uint32(os.Getegid())}}
	if st, ok := root.Sys().(*syscall.Stat_t); ok {
		o.users, o.groups = append(o.users, st.Uid), append(o.groups, st.Gid)
	}
	if runtime.GOOS == "darwin" {
		o.groups = append(o.groups, 80) // admin: who is in it can become root
	}
	return o
}

// judge says why somebody else can change what is at path.
func (o owners) judge(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	fail := func(problem, fix string) error {
		return &PlaceError{Path: path, Mode: info.Mode(), Problem: problem, Fix: fix}
	}
	if !slices.Contains(o.users, st.Uid) {
		return fail(fmt.Sprintf("it belongs to user %d, who is neither root nor you", st.Uid), fmt.Sprintf("chown %d %s", os.Geteuid(), path))
	}
	if info.Mode()&os.ModeSymlink != 0 || info.IsDir() && info.Mode()&os.ModeSticky != 0 {
		return nil
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o002 != 0:
		return fail("other users can write to it", "chmod go-w "+path)
	case mode&0o020 != 0 && !slices.Contains(o.groups, st.Gid):
		return fail(fmt.Sprintf("group %d can write to it", st.Gid), "chmod go-w "+path)
	}
	return nil
}
