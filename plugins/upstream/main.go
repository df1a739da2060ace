// Upstream serves recorded answers of the weather services and a few web
// pages on loopback, and writes a toolhost.yaml with which the plugins of this
// repository use them in place of the internet:
//
//	go run ./plugins/upstream [-addr 127.0.0.1:0] [-config FILE] [-plugins DIR] [-lifeline]
//
// It prints one line when it is ready and runs until it gets SIGINT or
// SIGTERM, or with -lifeline until its standard input ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/plugins/internal/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		stop()
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "upstream: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// errUsage reports arguments that the flag package has complained about.
var errUsage = errors.New("usage")

// run serves until ctx ends or, with -lifeline, until stdin does.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:0", "loopback `address` to listen on; port 0 takes a free one")
	config := flags.String("config", "", "write a matching toolhost.yaml to this `file`")
	plugins := flags.String("plugins", "bin/plugins", "`directory` of the plugin binaries that the file names")
	lifeline := flags.Bool("lifeline", false, "stop when standard input ends")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "upstream: unexpected argument %q\n", flags.Arg(0))
		return errUsage
	}
	l, err := listen(ctx, *addr)
	if err != nil {
		return err
	}
	note := "no configuration written"
	if *config != "" {
		if err := writeConfig(*config, *plugins, l.Addr().String()); err != nil {
			return errors.Join(err, l.Close())
		}
		note = "configuration " + *config
	}
	if _, err := fmt.Fprintf(stdout, "upstream: serving RECORDED data, not live weather, at http://%s; %s\n", l.Addr(), note); err != nil {
		return errors.Join(err, l.Close())
	}
	if *lifeline {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		// Ends with stdin. Nothing joins it: a read of stdin cannot be
		// interrupted, and the process ends when run returns.
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	return serve(ctx, l)
}

// listen opens the address, which must be a loopback one.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	if !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("listen %s: not a loopback address", addr)
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", tcp.String())
}

// serve answers until ctx ends, then closes every connection.
func serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           upstream.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
	}
	// Close ends open connections at once, and with them
	// the handlers that wait for their client to go away.
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
