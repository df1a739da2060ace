package pluginsdk

import (
	"os"
	"syscall"
)

var (
	stopSignals    = []os.Signal{syscall.SIGTERM}
	ignoredSignals = []os.Signal{os.Interrupt}
)
