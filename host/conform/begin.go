package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/runes"
	"github.com/toolhost/toolhost/proto/wire"
)

// byHandLimit is how long a plugin without a host may go on.
const byHandLimit = 5 * time.Second

// byHand runs the binary without a host, and as another host would (L12).
func (r *run) byHand(ctx context.Context) finding {
	said, err := r.alone(ctx)
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		return failed("without the cookie say what the program is, and end", "run by hand it does not end within %v", byHandLimit)
	case err != nil && !isStatus(err):
		return failed("without the cookie say what the program is, and end", "run by hand it ends badly: %v: %s", err, said)
	case said == "":
		return failed("say on stdout or stderr what the program is and which host runs it", "run by hand it says nothing")
	}
	first, _, _ := strings.Cut(said, "\n")
	said, err = r.alone(ctx, wire.CookieKey+"=another host")
	switch {
	case err == nil:
		return failed("end with a status that is not 0 if "+wire.CookieKey+" is not "+wire.CookieValue,
			"with another host's cookie it ends with status 0")
	case !isStatus(err) || said == "":
		return failed("say that the host is another one, and end with status 1", "with another host's cookie: %v: %q", err, said)
	}
	return okay("by hand it says %q; another host's cookie it refuses (%v)", runes.Cut(first, 120), err)
}

// isStatus reports whether err is an exit status of the process's own.
func isStatus(err error) bool {
	x, ok := errors.AsType[*exec.ExitError](err)
	return ok && x.Exited()
}

// alone runs the binary with hardly any environment, and returns the beginning of what it says.
func (r *run) alone(ctx context.Context, env ...string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, byHandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.cfg.Path, r.cfg.Args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "TMPDIR=" + r.dir, "GORACE=atexit_sleep_ms=0"}, append(r.cfg.Env, env...)...)
	cmd.Dir = r.dir
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second // for a child that holds the pipes
	out := &head{}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	if cmd.Process != nil {
		_ = killGroup(cmd.Process) // what is left of it; nobody else can have its id so soon
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return strings.TrimSpace(out.String()), err
}

// head keeps the beginning of what is written to it.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := 4<<10 - h.buf.Len(); room > 0 {
		h.buf.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.buf.String()
}

// start starts the plugin once and learns what there is to check.
func (r *run) start(ctx context.Context) finding {
	begin := time.Now()
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("run it with toolhost --log-level debug list to see what it says", "%v", err)
	}
	defer g.close()
	took := time.Since(begin)
	s := g.status()
	r.report.SDK, r.report.Version, r.report.Manifest, r.report.Uncovered = s.SDK, s.Version, s.Manifest, s.Uncovered
	r.report.Tools = append(r.report.Tools, s.Tools...)
	r.find(ctx, g)
	return okay("ready after %d ms, with %s", took.Milliseconds(), count(len(s.Tools), "tool"))
}

// manifest compares what the plugin says of itself at three starts: to a host that knows nothing, to the same host again,
// which compares itself (D6), and to another.
func (r *run) manifest(ctx context.Context) finding {
	g, err := r.open(ctx, "manifest", nil)
	if err != nil {
		return failed("", "%v", err)
	}
	first := g.status()
	g.close()
	if bad := first.BadTools; len(bad) > 0 { // a schema that is none, an example that its schema refuses, ...
		return failed("correct the definition; toolhost lint lists all of them", "tool %s is refused: %s", bad[0].ID, bad[0].Reason)
	}
	const same = "describe the same tools in the same order at every start: no times, no random values, no maps"
	for _, state := range []string{"manifest", "manifest2"} {
		if g, err = r.open(ctx, state, nil); err != nil {
			return failed(same, "at another start: %v", err)
		}
		_, err := g.Call(ctx, host.Call{Tool: "no-such-tool"}) // has the host ask, if it has not
		s := g.status()
		g.close()
		if code, _ := host.CodeOf(err); code != host.NotFound || s.Error != "" || s.Manifest != first.Manifest {
			return failed(same, "at another start it describes itself differently: manifest %.12s, then %.12s %s", first.Manifest, s.Manifest, s.Error)
		}
	}
	f := okay("manifest %.12s at 3 starts; %s", first.Manifest, count(len(first.Tools), "tool"))
	if n := len(first.Findings); n > 0 {
		f.detail += fmt.Sprintf("; the definition of %s may speak to the model", count(n, "tool"))
		f.remedy = "look at it with toolhost lint: hosts with definitions: review hide such a tool"
	}
	return f
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// join lists some of many.
func join(list []string) string {
	const most = 5
	if len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}
