//go:build unix

package pluginsdk

import (
	"os"
	"syscall"
)

var (
	stopSignals    = []os.Signal{syscall.SIGTERM}
	ignoredSignals = []os.Signal{syscall.SIGINT, syscall.SIGPIPE}
)
