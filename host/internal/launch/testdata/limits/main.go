// Command limits is a plugin that runs into one limit of its sandbox before it is ready. It is built without
// the race detector, whose shadow memory would count.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

var keep [][]byte

func main() {
	switch os.Args[1] {
	case "memory":
		for range 100 { // 6 GiB
			b := make([]byte, 64<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			keep = append(keep, b)
		}
	case "child memory": // of a child, which is bound as well
		out, err := exec.Command(os.Args[0], "memory").CombinedOutput()
		fmt.Fprintf(os.Stderr, "child: %v\n%s\n", err, out[:min(len(out), 2000)])
		os.Exit(1)
	case "cpu":
		for {
		}
	case "file":
		f, err := os.Create(filepath.Join(os.TempDir(), "big"))
		for err == nil {
			_, err = f.Write(make([]byte, 1<<20))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case "descriptors":
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			keep = append(keep, []byte{byte(f.Fd())})
		}
	case "tasks":
		for {
			if err := exec.Command(os.Args[0], "sleep").Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	case "sleep":
		time.Sleep(time.Minute)
	}
	fmt.Fprintln(os.Stderr, "no limit")
	os.Exit(9)
}
