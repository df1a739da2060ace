package confine

import (
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Cgroup is the directory in which this process may make control groups (version 2) with controllers, or empty. That is the
// parent of its own group, if it was handed over to this user or, for root, marked so by systemd; or its own
// group where that is the root of all it sees, as in a container.
func Cgroup(controllers ...string) string {
	mount, own := ownCgroup()
	if own == "" {
		return ""
	}
	parent := path.Dir(own)
	if own == mount {
		parent = own
	} else if os.Geteuid() == 0 {
		mark := make([]byte, 4)
		_, trusted := syscall.Getxattr(parent, "trusted.delegate", mark)
		if _, user := syscall.Getxattr(parent, "user.delegate", mark); trusted != nil && user != nil {
			return ""
		}
	}
	const writable = 2
	if syscall.Access(path.Join(parent, "cgroup.procs"), writable) != nil || syscall.Access(parent, writable) != nil {
		return ""
	}
	have, _ := os.ReadFile(path.Join(parent, "cgroup.controllers"))
	for _, c := range controllers {
		if !slices.Contains(strings.Fields(string(have)), c) {
			return ""
		}
	}
	return parent
}

// ownCgroup is where version 2 is mounted, and the directory of this process's group.
func ownCgroup() (mount, own string) {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	at := ""
	for line := range strings.Lines(string(groups)) {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			at = strings.TrimSpace(p)
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		mounted, fs, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mounted) // id, parent, device, root, mount point, ...
		if at == "" || !strings.HasPrefix(fs, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		if below, ok := strings.CutPrefix(at, strings.TrimSuffix(fields[3], "/")); ok && (below == "" || below[0] == '/') {
			return fields[4], path.Join(fields[4], below)
		}
	}
	return "", ""
}
