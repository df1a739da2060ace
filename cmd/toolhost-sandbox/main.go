// Command toolhost-sandbox confines a plugin and executes it in its own place. toolhost starts it, where a
// plugin's sandbox asks for more than a fork can give; see docs/sandbox.md.
package main

import (
	"os"

	"github.com/toolhost/toolhost/internal/confine"
)

func main() { os.Exit(confine.Main(os.Args)) }
