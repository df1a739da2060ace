package pluginsdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/proto/wire"
)

// Serve serves the tools to the host that started this process, until that host goes
// away. It is the whole main function: it does not return.
//
// Run by hand, without a host, the program says what it is, lists its tools and
// exits with status 0; with the argument "describe" it prints its manifest as
// JSON. A host that is not toolhost gets an explanation on stderr and status 1.
func Serve(tools ...Definition) { ServeFunc(static(tools)) }

// ServeFunc is [Serve] for tools that depend on settings or come and go. build is called
// once for each distinct settings, when the host first asks what the plugin offers. It
// reads them with [Registry.Settings], sets the tools with [Registry.Set] and returns.
// Goroutines that it starts may set others later (then it also calls [Registry.Dynamic]), and
// end with ctx, which lives as long as the tools. Its error makes the plugin
// unusable with these settings, and the host shows it.
func ServeFunc(build func(ctx context.Context, r *Registry) error) {
	os.Exit(serve(newServer(build)))
}

// serve returns the exit status.
func serve(s *server) int {
	switch cookie, ok := os.LookupEnv(wire.CookieKey); {
	case cookie == wire.CookieValue:
		if err := s.serveHost(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", programName(), err)
			return 1
		}
		return 0
	case len(os.Args) == 2 && os.Args[1] == "describe":
		return s.printManifest(os.Stdout)
	case ok:
		fmt.Fprintf(os.Stderr, "%s: this is a plugin of %s: the host set %s to %q, and it speaks %q\n",
			programName(), hostName, wire.CookieKey, cut(cookie, maxPanicHead), wire.CookieValue)
		return 1
	}
	return s.printHelp(os.Stdout)
}

const (
	hostName   = "toolhost (https://github.com/toolhost/toolhost)"
	askTimeout = 3 * time.Second // what a host allows Describe
)

// manifest asks for the manifest without settings.
func (s *server) manifest() (*manifest, error) {
	defer s.stop(errStopping)
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	reg, err := s.registry(ctx, nil)
	if reg == nil {
		return nil, err
	}
	return reg.current(err), nil
}

func (s *server) printManifest(w io.Writer) int {
	m, err := s.manifest()
	var raw []byte
	if err == nil {
		raw, err = describe(m)
	}
	if err == nil {
		_, err = w.Write(raw)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: describe: %v\n", programName(), err)
		return 1
	}
	return 0
}

// printHelp says what the program is (L12).
func (s *server) printHelp(w io.Writer) int {
	name := programName()
	var b strings.Builder
	fmt.Fprintf(&b, "%s is a plugin of %s.\nA host starts it; by itself it does nothing.\n\n", name, hostName)
	m, err := s.manifest()
	if err != nil {
		fmt.Fprintf(&b, "Its tools cannot be listed: %v\n", err)
	} else {
		printTools(&b, m)
	}
	fmt.Fprintf(&b, "\nTry it:\n")
	if strings.HasPrefix(name, wire.BinaryPrefix) {
		dir := filepath.Dir(os.Args[0])
		fmt.Fprintf(&b, "  toolhost --plugins %s list\n", dir)
		if len(m.tools()) > 0 {
			fmt.Fprintf(&b, "  toolhost --plugins %s describe %s\n", dir, m.tools()[0].GetId())
		}
	} else {
		fmt.Fprintf(&b, "  toolhost finds it in a plugin directory once its name begins with %s\n", wire.BinaryPrefix)
	}
	fmt.Fprintf(&b, "  %s describe\n", os.Args[0])
	if _, err := io.WriteString(w, b.String()); err != nil {
		return 1
	}
	return 0
}

func printTools(b *strings.Builder, m *manifest) {
	if why := m.pb.GetError(); why != "" {
		fmt.Fprintf(b, "Without settings it has no tools: %s\n", why)
	}
	if len(m.tools()) > 0 {
		b.WriteString("Tools:\n")
	}
	for _, t := range m.tools() {
		text, _, _ := strings.Cut(t.GetDescription(), "\n")
		fmt.Fprintf(b, "  %-20s %s\n", t.GetId(), text)
	}
	for _, t := range m.pb.GetBadTools() {
		fmt.Fprintf(b, "  %-20s REFUSED: %s\n", orElse(t.GetId(), "(no id)"), t.GetError())
	}
}

func programName() string { return filepath.Base(os.Args[0]) }

// serveHost serves the host that started this process. It returns when the host went
// away or told it to end.
func (s *server) serveHost() error {
	lis, err := listenHost(os.Stdin)
	if err != nil {
		return err
	}
	end := watchEnd()
	defer end.stop()
	reaper := startReaper()
	defer reaper.stop()
	f, err := announce(s, lis)
	if err != nil {
		return err
	}
	select {
	case <-end.c:
	case <-lis.done: // nobody can call any more
	case <-f.over:
	}
	if left := finish(f, s); left > 0 {
		return fmt.Errorf("%d calls did not return within %s when the host ended", left, wire.LifelineGrace)
	}
	return nil
}

var errNoConn = errors.New(wire.EnvConn + " is not set: this host does not hand over a connection, so it cannot use this plugin")
