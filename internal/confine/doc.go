// Package confine puts the calling process into a sandbox and then executes a program in its place. It is
// the whole of the command toolhost-sandbox, which package launch starts between the fork and a plugin
// where a setting is wanted that a fork alone cannot give.
//
// A plugin waits for it, so it starts fast: it imports nothing that takes time to initialise. [Settings]
// travel as arguments, and descriptors 0 to 4 pass through untouched. What the machine cannot give goes to
// a descriptor of its own as a [Report]; that descriptor closes when the program is executed, so that the
// program can neither read nor forge it.
//
// Everything works on Linux only. Elsewhere [Main] refuses.
package confine
