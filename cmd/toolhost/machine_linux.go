package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// machine says what the kernel offers to keep plugins apart.
func machine() []finding {
	var name unix.Utsname
	detail := "Linux"
	if unix.Uname(&name) == nil {
		detail = "Linux " + unix.ByteSliceToString(name.Release[:])
	}
	return append([]finding{
		{Name: "system", State: fine, Detail: detail + "; parent-death signal, process groups"},
		namespaces(),
	}, sandboxSettings()...)
}

// namespaces starts this program (not a plugin) in a pid namespace, as the sandbox profile default does with
// plugins.
func namespaces() finding {
	f := finding{Name: "sandbox", State: fine}
	attr := namespaceAttr()
	kind := "pid namespace"
	if os.Geteuid() != 0 {
		kind = "pid namespace through a user namespace"
	}
	cmd := exec.Cmd{Path: "/proc/self/exe", Args: []string{"toolhost", "version"}, Env: []string{}, SysProcAttr: attr}
	if out, err := cmd.CombinedOutput(); err != nil {
		f.State = note
		f.Detail = fmt.Sprintf("profile default has no %s here (%v%s): a process that a plugin starts with setsid outlives it",
			kind, err, tail(out))
		f.Advice = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces or AppArmor)"
		return f
	}
	f.Detail = "profile default: " + kind
	return f
}

func tail(out []byte) string {
	if text := strings.TrimSpace(string(out)); text != "" {
		return ": " + text
	}
	return ""
}
