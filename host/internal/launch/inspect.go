package launch

import (
	"bufio"
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Inspect reports whether the file could be executed here, as far as its
// permissions and its header tell; nothing is run (L13, D2). If not, the cause is
// CauseNotFound, CauseNotExecutable, CauseArchitecture or CauseInterpreter, and
// the error says it in words; otherwise it is CauseNone, and the error nil.
func Inspect(path string) (Cause, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return CauseNotFound, fmt.Errorf("%s does not exist", path)
	case err != nil:
		return CauseNotFound, err
	case !info.Mode().IsRegular():
		return CauseNotExecutable, fmt.Errorf("%s is no regular file", path)
	case !executable(path, info):
		return CauseNotExecutable, fmt.Errorf("%s is not executable: mode %v", path, info.Mode())
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return CauseNone, nil // it may be executed and not read
	} else if err != nil {
		return CauseNotFound, err
	}
	defer f.Close()
	return header(f)
}

// header checks the first bytes, and what they lead to.
func header(f *os.File) (cause Cause, err error) {
	defer func() {
		if v := recover(); v != nil { // the debug packages make no promise about hostile files
			cause, err = CauseNotExecutable, fmt.Errorf("unreadable program header: %v", v)
		}
	}()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil {
		return CauseNotExecutable, errors.New("too short for a program")
	}
	switch {
	case magic[0] == '#' && magic[1] == '!':
		return script(f)
	case string(magic) == elf.ELFMAG:
		return elfHeader(f)
	case magic[0] == 'M' && magic[1] == 'Z':
		return peHeader(f)
	case bytes.Equal(magic, []byte{0xca, 0xfe, 0xba, 0xbe}):
		return fatHeader(f)
	case bytes.Equal(magic[1:], []byte{0xfa, 0xed, 0xfe}), bytes.Equal(magic[:3], []byte{0xfe, 0xed, 0xfa}):
		return machoHeader(f)
	}
	return CauseNotExecutable, errors.New("no program: neither a binary nor a script that names its interpreter")
}

// script checks the interpreter of a script.
func script(f *os.File) (Cause, error) {
	line, err := bufio.NewReader(io.NewSectionReader(f, 2, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return CauseNotExecutable, err
	}
	words := strings.Fields(line)
	if runtime.GOOS == "windows" || len(words) == 0 {
		return CauseNotExecutable, errors.New("a script that this system does not run")
	}
	return interpreter(words[0])
}

func interpreter(path string) (Cause, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return CauseInterpreter, fmt.Errorf("interpreter %q does not exist", path)
	case err != nil:
		return CauseInterpreter, fmt.Errorf("interpreter: %w", err)
	case filepath.IsAbs(path) && !executable(path, info):
		return CauseInterpreter, fmt.Errorf("interpreter %q is not executable", path)
	}
	return CauseNone, nil
}

func elfHeader(f *os.File) (Cause, error) {
	e, err := elf.NewFile(f)
	if err != nil {
		return CauseNotExecutable, fmt.Errorf("broken ELF header: %w", err)
	}
	if arch := elfArch[e.Machine]; !runsHere("linux", arch) && runtime.GOOS != "freebsd" {
		return foreign("linux", or(arch, e.Machine.String()))
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return CauseNotExecutable, fmt.Errorf("an ELF file that is no program (%v)", e.Type)
	}
	for _, p := range e.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		name, err := io.ReadAll(p.Open())
		if err != nil {
			return CauseNotExecutable, fmt.Errorf("broken ELF header: %w", err)
		}
		return interpreter(string(bytes.TrimRight(name, "\x00")))
	}
	return CauseNone, nil
}

func machoHeader(f *os.File) (Cause, error) {
	m, err := macho.NewFile(f)
	if err != nil {
		return CauseNotExecutable, fmt.Errorf("broken Mach-O header: %w", err)
	}
	return machoArchs(m.Cpu)
}

func fatHeader(f *os.File) (Cause, error) {
	m, err := macho.NewFatFile(f)
	if err != nil { // the magic is also that of Java class files
		return CauseNotExecutable, errors.New("no program for this system")
	}
	cpus := make([]macho.Cpu, 0, len(m.Arches))
	for _, a := range m.Arches {
		cpus = append(cpus, a.Cpu)
	}
	return machoArchs(cpus...)
}

func machoArchs(cpus ...macho.Cpu) (Cause, error) {
	var names []string
	for _, cpu := range cpus {
		arch := machoArch[cpu]
		if runsHere("darwin", arch) {
			return CauseNone, nil
		}
		names = append(names, or(arch, cpu.String()))
	}
	return foreign("darwin", strings.Join(names, ","))
}

func peHeader(f *os.File) (Cause, error) {
	p, err := pe.NewFile(f)
	if err != nil {
		return CauseNotExecutable, fmt.Errorf("broken PE header: %w", err)
	}
	if arch := peArch[p.Machine]; !runsHere("windows", arch) {
		return foreign("windows", or(arch, fmt.Sprintf("machine %#x", p.Machine)))
	}
	return CauseNone, nil
}

// runsHere compares a target with the host. Systems run the 32-bit programs of
// their own family where they are set up for it.
func runsHere(goos, arch string) bool {
	family := map[string]string{"386": "amd64", "arm": "arm64"}
	return goos == runtime.GOOS && (arch == runtime.GOARCH || family[arch] == runtime.GOARCH && arch != "")
}

func foreign(goos, arch string) (Cause, error) {
	return CauseArchitecture, fmt.Errorf("built for %s/%s, this is %s/%s", goos, arch, runtime.GOOS, runtime.GOARCH)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

var elfArch = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_386: "386", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64",
	elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

var machoArch = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64", macho.Cpu386: "386"}

var peArch = map[uint16]string{
	pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_I386: "386", pe.IMAGE_FILE_MACHINE_ARM64: "arm64",
}
