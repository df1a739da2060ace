//go:build linux

package launch

import (
	"slices"
	"strings"
	"testing"
)

// hijackers are variables by which whoever sets them runs code in, or leads astray, the programs that inherit them.
var hijackers = []string{
	"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_DEBUG_OUTPUT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH",
	"NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PERL5LIB", "PERL5OPT", "RUBYOPT", "RUBYLIB",
	"JAVA_TOOL_OPTIONS", "BASH_ENV", "ENV", "IFS", "GCONV_PATH", "LOCPATH", "MALLOC_TRACE", "GLIBC_TUNABLES", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR",
	"ld_preload", "LC_", "XLC_ALL",
}

// T55: what hijacks a program does not pass, unless the operator named it for this plugin.
func TestT55_WhatHijacksAProgramDoesNotPass(t *testing.T) {
	var host []string
	for _, name := range hijackers {
		host = append(host, name+"=evil")
	}
	env, dropped := environ("linux", append([]string{"PATH=/bin"}, host...), StandardEnv(), nil)
	want := []string{"PATH=/bin", "LC_=evil"} // the locale's names pass: they choose, and run nothing
	if !slices.Equal(env, want) {
		t.Errorf("passed: %q, want %q", env, want)
	}
	if len(dropped) != len(hijackers)-1 {
		t.Errorf("%d of %d names were dropped: %q", len(dropped), len(hijackers)-1, dropped)
	}
	for _, name := range hijackers {
		if env, _ := environ("linux", host, StandardEnv(), []string{name + "=meant"}); !slices.Contains(env, name+"=meant") || slices.Contains(env, name+"=evil") {
			t.Errorf("%s was named, and passed is %q", name, env)
		}
	}
}

// T55: the same for a real process. Only what the test binary itself does not mind is set.
func TestT55_TheChildIsNotHijacked(t *testing.T) {
	names := []string{"PYTHONPATH", "NODE_OPTIONS", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "LD_HWCAP_MASK", "PERL5OPT"}
	for _, name := range names {
		t.Setenv(name, "evil")
	}
	l := newLauncher(t)
	spec := self(nil, append([]string{"env"}, conforming...)...)
	spec.Env = []string{"GORACE=atexit_sleep_ms=0", "PYTHONPATH=meant"}
	p := start(t, l, spec)
	defer p.Kill()
	if err := healthy(p); err != nil {
		t.Error(err)
	}
	got := string(p.Exit().Stderr)
	if !strings.Contains(got, "PYTHONPATH=meant\n") || strings.Contains(got, "evil") {
		t.Errorf("the child's environment:\n%s", got)
	}
}
