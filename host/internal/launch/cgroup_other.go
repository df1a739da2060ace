//go:build !linux

package launch

// cgroup is nothing on this system.
type cgroup struct{}

func delegatedCgroup() string { return "" }

func (g *cgroup) outOfMemory() bool { return false }

func (g *cgroup) remove() {}
