package loopback

import "syscall"

// alone keeps others from listening at the same port while this process does, which
// Windows allows to whoever asks for it.
func alone(_, _ string, raw syscall.RawConn) error {
	const exclusive = ^syscall.SO_REUSEADDR // SO_EXCLUSIVEADDRUSE
	var err error
	ctlErr := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, exclusive, 1)
	})
	if ctlErr != nil {
		return ctlErr
	}
	return err
}
