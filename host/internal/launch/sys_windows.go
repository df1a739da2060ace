package launch

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// inheritsConn is false: there is no socket pair.
const inheritsConn = false

const (
	errTextBusy   = windows.ERROR_SHARING_VIOLATION
	errExecFormat = windows.ERROR_BAD_EXE_FORMAT
)

func (p *plumbing) offer() error { return errors.ErrUnsupported }

func terminate(*os.Process) {} // the lifeline's end is the request to end

func reapAdopted(int) {}

// awaitZombie returns when the process has ended; the handle of os.Process keeps
// its id from being given away.
func awaitZombie(pid int) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	_, _ = windows.WaitForSingleObject(h, windows.INFINITE)
}

func executable(string, os.FileInfo) bool { return true }

// lifelinePipe is os.Pipe, but no process inherits its ends by chance.
func lifelinePipe() (r, w *os.File, err error) {
	var rh, wh windows.Handle
	if err := windows.CreatePipe(&rh, &wh, nil, 0); err != nil {
		return nil, nil, os.NewSyscallError("CreatePipe", err)
	}
	return os.NewFile(uintptr(rh), "lifeline"), os.NewFile(uintptr(wh), "lifeline"), nil
}

// outputPipe is a pipe whose read end waits asynchronously: it knows deadlines, and can be asked what is in it
// while somebody reads. Only named pipes do. Nobody else can open this one: it has one end to give, and its
// name is a secret for as long as that is free. No process inherits its ends by chance.
func outputPipe() (r, w *os.File, err error) {
	name, err := windows.UTF16PtrFromString(`\\.\pipe\toolhost-` + rand.Text())
	if err != nil {
		return nil, nil, err
	}
	rh, err := windows.CreateNamedPipe(name, windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_FIRST_PIPE_INSTANCE|windows.FILE_FLAG_OVERLAPPED,
		windows.PIPE_TYPE_BYTE|windows.PIPE_READMODE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, pipeSize, pipeSize, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	wh, err := windows.CreateFile(name, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES, 0, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		windows.CloseHandle(rh)
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(rh), "output"), os.NewFile(uintptr(wh), "output"), nil
}

// pipeSize is what a pipe holds, as on Linux.
const pipeSize = 64 << 10

// take reads what is in the pipe, or waits for it: a read of no bytes ends when there are some. n bytes were
// counted in s.
func (o *output) take(s *stream, buf []byte) (n int, err error) {
	for {
		if n, err = o.takeNow(s, buf); err != syscall.EAGAIN {
			return n, err
		}
		switch _, err := s.file.Read(nil); {
		case errors.Is(err, io.EOF):
			return 0, nil
		case err != nil:
			return 0, err
		}
	}
}

// takeNow is take without waiting, and for a pipe whose deadline has passed. It reads and counts in one step, so
// that flush never sees bytes that are neither in the pipe nor counted.
func (o *output) takeNow(s *stream, buf []byte) (n int, err error) {
	ctlErr := s.raw.Control(func(fd uintptr) {
		o.mu.Lock()
		defer o.mu.Unlock()
		var there uint32
		if there, err = inPipe(fd); err == nil && there == 0 {
			err = syscall.EAGAIN
		} else if err == nil {
			n, err = readThere(windows.Handle(fd), buf[:min(len(buf), int(there))])
		}
		s.taken += int64(n)
	})
	switch {
	case ctlErr != nil:
		return 0, ctlErr
	case errors.Is(err, windows.ERROR_BROKEN_PIPE):
		return 0, nil
	}
	return n, err
}

// pending is how many bytes wait in the pipe. o.mu is held.
func (s *stream) pending() (n int64) {
	_ = s.raw.Control(func(fd uintptr) {
		if there, err := inPipe(fd); err == nil {
			n = int64(there)
		}
	})
	return n
}

// readThere reads bytes that are in the pipe, so that it does not wait.
func readThere(h windows.Handle, buf []byte) (int, error) {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return 0, err
	}
	defer windows.CloseHandle(event)
	over := windows.Overlapped{HEvent: event | 1} // the bit: Go's poller is not told
	var n uint32
	err = windows.ReadFile(h, buf, &n, &over)
	if errors.Is(err, windows.ERROR_IO_PENDING) || err == nil {
		err = windows.GetOverlappedResult(h, &over, &n, true)
	}
	return int(n), err
}

// inPipe is how many bytes are in a pipe.
func inPipe(fd uintptr) (n uint32, err error) {
	ok, _, errno := peekNamedPipe.Call(fd, 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
	if ok == 0 {
		return 0, errno
	}
	return n, nil
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")
