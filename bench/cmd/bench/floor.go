package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/bench/weather"
)

// floor shows how far a call is from what two Go processes need to send each other the same bytes over a unix socket.
func floor(o *options) ([]report.Row, error) {
	const than = "unix socket, Go's net, the bytes alone"
	ours := peer.Toolhost(o.program("toolplugin-weather"), o.state)
	got, err := takeTurns([]peer.Kind{ours, peer.Local(than, func() (func() error, func(), error) { return pong(o.program("pong")) })},
		[]int{1}, o.pick(9, 3), time.Duration(o.pick(400, 200))*time.Millisecond)
	if err != nil {
		return nil, err
	}
	const group = "The floor: two processes, one message each way"
	call, bytes := got[ours.Name][1], got[than][1]
	return []report.Row{
		{Group: group, Name: "a validated call, p50", Value: us(call.P50), Unit: "µs", Than: than, Other: us(bytes.P50)},
		{Group: group, Name: "CPU of both processes for a call", Value: us(call.CPU), Unit: "µs", Than: than, Other: us(bytes.CPU)},
	}, nil
}

// pong starts the program with one end of a socket pair. A call writes the weather's input to the other end and reads it back.
func pong(program string) (call func() error, end func(), err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	own, its := os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
	conn, err := net.FileConn(own)
	_ = own.Close()
	if err != nil {
		_ = its.Close()
		return nil, nil, err
	}
	cmd := exec.Command(program)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{its}, os.Stderr
	err = cmd.Start()
	_ = its.Close()
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	back := make([]byte, len(weather.Input))
	return func() error {
			if _, err := conn.Write([]byte(weather.Input)); err != nil {
				return err
			}
			_, err := io.ReadFull(conn, back)
			return err
		}, func() {
			_ = conn.Close()
			_ = cmd.Wait()
		}, nil
}
