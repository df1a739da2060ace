package subject

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// Stamp is what distinguishes one copy of the plugin from another. It is appended to the binary, which the loader
// does not mind.
type Stamp struct {
	Plugin  string
	Version int
	Broken  bool // the program ends at once
}

const (
	stampMark = "\nsoak-stamp "
	stampSize = 96
)

// Bytes is what is appended to the binary.
func (s Stamp) Bytes() []byte {
	b := fmt.Appendf(nil, "%s%s %d %t\n", stampMark, s.Plugin, s.Version, s.Broken)
	return append(bytes.Repeat([]byte{' '}, max(0, stampSize-len(b))), b...)
}

// ReadStamp reads the stamp of the program at path. One without has the zero stamp.
func ReadStamp(path string) (Stamp, error) {
	f, err := os.Open(path)
	if err != nil {
		return Stamp{}, err
	}
	defer f.Close()
	if _, err := f.Seek(-stampSize, io.SeekEnd); err != nil {
		return Stamp{}, err
	}
	tail, err := io.ReadAll(f)
	if err != nil {
		return Stamp{}, err
	}
	var s Stamp
	i := bytes.LastIndex(tail, []byte(stampMark))
	if i < 0 {
		return s, nil
	}
	_, err = fmt.Fscan(strings.NewReader(string(tail[i+len(stampMark):])), &s.Plugin, &s.Version, &s.Broken)
	return s, err
}
