package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/confine"
)

// A process is made in its group, which is gone when the process is. The limits that need a controller are
// not tried: a test does not switch controllers on.
func TestCgroup_EndsWithItsProcess(t *testing.T) {
	var mount string
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup2" {
			mount = f[1]
		}
	}
	if mount == "" {
		t.Skip("no control groups of version 2 here")
	}
	g, err := newCgroup(mount, nil, [][2]string{{"cgroup.max.descendants", "0"}})
	if err != nil {
		t.Skip("no right to make one: ", err)
	}
	dir := g.dir
	spec := self(nil, "hang")
	spec.Binary = spec.Path
	r := forkRequest{spec: spec, group: g}
	attr := r.attr()
	attr.Files = []*os.File{nil, nil, nil}
	g.enter(attr.Sys)
	c := child{}
	if err := r.execute(&c, attr, confine.Settings{}, nil); err != nil {
		g.remove()
		t.Fatal(err)
	}
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil || len(strings.Fields(string(procs))) != 1 {
		t.Errorf("in the group: %q, %v", procs, err)
	}
	g.remove() // which kills
	if state, err := c.proc.Wait(); err != nil || state.ExitCode() != -1 {
		t.Errorf("%v, %v", state, err)
	}
	g.remove()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the group is left")
	}
}

func TestCgroup_Refused(t *testing.T) {
	dir := t.TempDir()
	if _, err := newCgroup("", nil, nil); err == nil {
		t.Error("made in no place")
	}
	if _, err := newCgroup(dir, nil, nil); err == nil {
		t.Error("made where there are no groups")
	}
	settings := confine.Settings{Memory: 1 << 20, Tasks: 3}
	if g := groupFor(func() string { return dir }, &settings); g != nil || settings.Memory == 0 || settings.Tasks == 0 {
		t.Error("the limits are lost with the group")
	}
	gone, own := filepath.Join(dir, cgroupPrefix+"4194305-1"), filepath.Join(dir, cgroupPrefix+"1-1") // no process has the first id
	for _, d := range []string{gone, own} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweepCgroups(dir)
	if _, err := os.Stat(gone); err == nil {
		t.Error("the group of a dead host is left")
	}
	if _, err := os.Stat(own); err != nil {
		t.Error("the group of a live host was removed")
	}
}
