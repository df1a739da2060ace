//go:build linux

// Command faults is a kit of hostile plugins for whoever embeds the host: each does one evil when its tool is
// called, or when it is started. docs/faults.md lists what a caller sees of each; "make faults" builds them to
// bin/faults.
//
// All of them are this one program. Which one it is says the name of its file: toolplugin-panic panics. Behind
// the end of each file stands its name, so that every plugin has a hash, and with it a manifest and a private
// copy, of its own.
//
// What an evil takes of the machine is bounded, also without a sandbox: 1.5 GiB of memory, 126 processes that
// end within seconds, 256 MiB of output.
package main
