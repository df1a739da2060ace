//go:build linux && !amd64 && !arm64

package confine

const (
	auditArch = 0 // no list yet
	otherABI  = 0
	sysSocket = 0
)

// refusedHere is empty: there is no list for this architecture yet.
var refusedHere []uint32
