//go:build linux

package launch

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// elfFile is the header of an ELF64 program, with an interpreter if named.
func elfFile(machine, kind uint16, interp string) []byte {
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = le.AppendUint16(b, kind)
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, 0)  // entry
	b = le.AppendUint64(b, 64) // program headers
	b = le.AppendUint64(b, 0)  // section headers
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, 1, 64, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	size := uint64(len(interp) + 1)
	b = le.AppendUint32(b, 3) // PT_INTERP
	b = le.AppendUint32(b, 4)
	for _, v := range []uint64{120, 0, 0, size, size, 1} {
		b = le.AppendUint64(b, v)
	}
	return append(append(b, interp...), 0)
}

func machoFile(cpu uint32) []byte {
	b := []byte{0xcf, 0xfa, 0xed, 0xfe}
	for _, v := range []uint32{cpu, 0, 2, 0, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func peFile(machine uint16) []byte {
	b := make([]byte, 128)
	copy(b, "MZ")
	b[0x3c] = 96
	copy(b[96:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(b[100:], machine)
	return b
}

func TestL13_Inspect(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the table is for linux/amd64")
	}
	const amd64, arm64, i386, exec, dyn, rel, core = 62, 183, 3, 2, 3, 1, 4
	tests := map[string]struct {
		data  []byte
		cause Cause
		says  string
	}{
		"elf here":        {elfFile(amd64, dyn, "/bin/sh"), CauseNone, ""},
		"elf 386":         {elfFile(i386, exec, "/bin/sh"), CauseNone, ""},
		"elf arm64":       {elfFile(arm64, exec, "/bin/sh"), CauseArchitecture, "built for linux/arm64, this is linux/amd64"},
		"elf unknown":     {elfFile(4711, exec, "/bin/sh"), CauseArchitecture, "linux/EM_"},
		"elf object":      {elfFile(amd64, rel, "/bin/sh"), CauseNotExecutable, "no program"},
		"elf core":        {elfFile(amd64, core, "/bin/sh"), CauseNotExecutable, "no program"},
		"elf interpreter": {elfFile(amd64, dyn, "/lib/ld-musl-none.so.1"), CauseInterpreter, `"/lib/ld-musl-none.so.1" does not exist`},
		"elf cut":         {elfFile(amd64, dyn, "")[:40], CauseNotExecutable, "broken ELF header"},
		"macho arm64":     {machoFile(0x0100000c), CauseArchitecture, "darwin/arm64"},
		"macho amd64":     {machoFile(0x01000007), CauseArchitecture, "darwin/amd64"},
		"macho cut":       {machoFile(0x01000007)[:8], CauseNotExecutable, "broken Mach-O header"},
		"pe amd64":        {peFile(0x8664), CauseArchitecture, "windows/amd64"},
		"pe odd":          {peFile(0x1234), CauseNotExecutable, ""},
		"pe cut":          {[]byte("MZ12"), CauseNotExecutable, "broken PE header"},
		"java class":      {[]byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 65, 0, 0}, CauseNotExecutable, "no program"},
		"script":          {[]byte("#! /bin/sh -e\n"), CauseNone, ""},
		"script env":      {[]byte("#!/usr/bin/env python"), CauseNone, ""},
		"script missing":  {[]byte("#!/no/python\n"), CauseInterpreter, `"/no/python" does not exist`},
		"script nothing":  {[]byte("#!  \n"), CauseNotExecutable, "script"},
		"text":            {[]byte("hello world\n"), CauseNotExecutable, "no program"},
		"short":           {[]byte("#!"), CauseNotExecutable, "too short"},
		"empty":           {nil, CauseNotExecutable, "too short"},
	}
	dir := t.TempDir()
	l := newLauncher(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.WriteFile(path, tt.data, 0o700); err != nil {
				t.Fatal(err)
			}
			cause, err := Inspect(path)
			if cause != tt.cause || (err == nil) != (tt.cause == CauseNone) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q, %v", cause, err)
			}
			if tt.cause == CauseNone {
				return
			}
			spec := Spec{Name: "x", Path: path, Started: func(int) { t.Error("it was executed") }}
			if e := refuse(t, l, spec); e.Cause != tt.cause || !strings.HasPrefix(e.Error(), "start x: ") {
				t.Errorf("%q, %v", e.Cause, e)
			}
		})
	}
	if cause, err := Inspect(os.Args[0]); err != nil {
		t.Errorf("this binary: %q, %v", cause, err)
	}
	link := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nothing"), link); err != nil {
		t.Fatal(err)
	}
	if cause, err := Inspect(link); cause != CauseNotFound {
		t.Errorf("dangling link: %q, %v", cause, err)
	}
}
