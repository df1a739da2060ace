package state

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// L10: where programs cannot be kept or run, the error names the directory, what is wrong and what to do.
func TestL10_Mounts(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		preflight  bool // Preflight tells of it
	}{
		{"noexec", "mounted noexec", true},
		{"readonly", "mounted read-only", true},
		{"full", "that is full", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(dir+"/program", make([]byte, 1<<20), 0o700))
			must(t, os.Mkdir(dir+"/mnt", 0o700))
			cmd := child(t, "mount", filepath.Join(dir, "mnt/state"), tt.name, dir+"/mnt", dir+"/program")
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
			}
			out, err := cmd.Output()
			if e, exited := err.(*exec.ExitError); err != nil && !exited {
				t.Skip("no user and mount namespaces here: ", err)
			} else if exited {
				t.Fatalf("%s%s%v", out, e.Stderr, err)
			}
			lines := strings.Split(string(out), "\n")
			if strings.HasPrefix(lines[0], "mount:") {
				t.Skip(lines[0])
			}
			if len(lines) != 5 || lines[3] != "left: []" {
				t.Fatalf("%s", out)
			}
			for i, line := range lines[:3] {
				told := strings.HasPrefix(line, "*state.UnusableError: state directory: "+dir+"/mnt/state") &&
					strings.Contains(line, tt.says) && strings.Contains(line, "--state")
				if want := i > 0 || tt.preflight; told != want {
					t.Errorf("%s: %t, want %t", line, told, want)
				}
			}
		})
	}
}

// childMount mounts an empty file system of a kind at args[1], with a state directory in it, and stores the program args[2].
func childMount(d *Dir, args []string) {
	kind, at, src := args[0], args[1], args[2]
	flags, data := map[string]uintptr{"noexec": syscall.MS_NOEXEC}[kind], map[string]string{"full": "size=256k"}[kind]
	if err := syscall.Mount("tmpfs", at, "tmpfs", flags, data); err != nil {
		fmt.Println("mount:", err)
		return
	}
	if _, err := d.Clock(); err != nil {
		fmt.Println("clock:", err)
		return
	}
	if kind == "readonly" {
		if err := syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			fmt.Println("mount:", err)
			return
		}
		d.Now = func() time.Time { return time.Now().Add(time.Minute) } // it would be written down
	}
	tell := func(err error) { fmt.Printf("%T: %v\n", err, err) }
	tell(d.Preflight())
	_, err := d.Store(src)
	tell(err)
	_, err = d.Store(src)
	tell(err)
	left, _ := filepath.Glob(filepath.Join(d.path, binariesName, copyPrefix+"*"))
	fmt.Println("left:", left)
}
