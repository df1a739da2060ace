package state

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// childStore does what the tests of private copies, the index and hosts ask for.
func childStore(d *Dir, gate func(), verb string, args []string) {
	switch verb {
	case "run": // stores and runs the programs in a directory, 24 at once
		gate()
		fmt.Println(runCopies(d, args[0]))
	case "copy": // stores a program until it is killed
		gate()
		for {
			b, err := d.Store(args[0])
			if err != nil {
				fmt.Println(err)
				return
			}
			_ = b.Close()
		}
	case "keep": // stores a program and holds the copy
		b, err := d.Store(args[0])
		if err != nil {
			fmt.Println(err)
			return
		}
		gate()
		fmt.Println(b.Close())
	case "learn": // adds files to the index: n of them, or until it is killed if n is 0
		gate()
		n, _ := strconv.Atoi(args[1])
		for i := 0; n == 0 || i < n; i++ {
			err := d.UpdateIndex(func(u *IndexUpdate) {
				u.SetFile(fmt.Sprintf("/%s/%d", args[0], i%1000), File{SHA256: [32]byte{byte(i), byte(i >> 8), 1}}, time.Now())
				u.SetManifest(Key{byte(i), 1}, Manifest{Bytes: make([]byte, 20_000)})
			})
			if err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Println("done")
	case "host": // is a live host
		a, err := d.Announce(LiveHost{PID: os.Getpid(), Started: time.Now(), Program: args[0]})
		if err != nil {
			fmt.Println(err)
			return
		}
		gate()
		fmt.Println(a.Close())
	}
}

// runCopies returns how many programs it has run.
func runCopies(d *Dir, dir string) (int, error) {
	attr := slowFork()
	programs, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return 0, err
	}
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		n    int
		errs []error
	)
	for round := range slices.Chunk(programs, 24) {
		for _, program := range round {
			all.Go(func() {
				b, err := d.Store(program)
				if err == nil {
					cmd := exec.Command(b.Path)
					cmd.SysProcAttr = attr
					err = errors.Join(cmd.Run(), b.Close())
				}
				mu.Lock()
				defer mu.Unlock()
				n++
				errs = append(errs, err)
			})
		}
		all.Wait()
	}
	return n, errors.Join(errs...)
}
