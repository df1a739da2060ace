package profile

import (
	"maps"
	"testing"
	"time"
)

// TestSum holds that the innermost known function decides, that allocation is never its caller's, and that every trace counts.
func TestSum(t *testing.T) {
	got, err := sum([]byte(`File: bench
Type: cpu
Duration: 5.99s, Total samples = 2.81s (46.88%)
-----------+-------------------------------------------------------
      10ms   runtime.memmove (inline)
             encoding/json.(*decodeState).object
             github.com/toolhost/toolhost/pluginsdk.(*server).execute
-----------+-------------------------------------------------------
     120ms   runtime.nextFreeFast
             runtime.mallocgc
             github.com/toolhost/toolhost/host/internal/schema.(*scanner).object
-----------+-------------------------------------------------------
     1.50s   internal/runtime/syscall/linux.Syscall6
             internal/runtime/syscall/linux.EpollWait
             runtime.netpoll
             runtime.findRunnable
-----------+-------------------------------------------------------
      20ms   internal/runtime/syscall/linux.Syscall6
             syscall.write
             google.golang.org/grpc/internal/transport.(*bufWriter).Flush
-----------+-------------------------------------------------------
      30ms   github.com/toolhost/toolhost/host.(*run).stages
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Duration{Schemas: 10 * time.Millisecond, Memory: 120 * time.Millisecond, Scheduling: 1500 * time.Millisecond, Sockets: 20 * time.Millisecond, Rules: 30 * time.Millisecond}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
