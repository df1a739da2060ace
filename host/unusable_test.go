package host_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// A plugin that its configuration found to be unusable is listed with the reason, and neither started nor dialled.
func TestUnusablePlugin(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lacks := errors.New("toolhost.yaml:4: the environment has no KEY")
	dialled := func(context.Context) (net.Conn, error) {
		t.Error("it was dialled")
		return nil, errors.New("no")
	}
	h, err := host.Open(t.Context(), host.Config{StateDir: t.TempDir(), Eager: true, Plugins: []host.Plugin{
		{Name: "file", Path: own, Unusable: lacks}, {Name: "far", Dial: dialled, Unusable: lacks},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for range h.Tools() {
		t.Error("it has tools")
	}
	n := 0
	for s := range h.Plugins() {
		n++
		if !strings.Contains(s.Error, lacks.Error()) || s.PID != 0 || s.Restarts != 0 {
			t.Errorf("%s: %s, error %q", s.Name, s.State, s.Error)
		}
		_, err := h.Call(t.Context(), host.Call{Tool: s.Name + "/x"})
		if !errors.Is(err, lacks) && (err == nil || !strings.Contains(err.Error(), lacks.Error())) {
			t.Errorf("call: %v", err)
		}
	}
	if n != 2 {
		t.Errorf("%d plugins", n)
	}
	if err := host.Check(host.Plugin{Path: own, Unusable: lacks}); err != lacks {
		t.Errorf("Check: %v", err)
	}
}
