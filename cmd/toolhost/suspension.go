package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// maxSuspension is the largest suspension file, in bytes; what the host seals is smaller.
const maxSuspension = 32 << 20

// mayCreate says early why a suspension cannot be written to path.
func mayCreate(path string) error {
	if path == "" {
		return usagef("--save: want the name of a file")
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.New("it exists, and is not overwritten")
		}
		return usagef("--save %s: %w", path, err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usagef("--save %s: its directory: %s", path, whyNoDir(err))
	}
	return nil
}

// writeSuspension writes a new file that nobody else can read. It never overwrites one.
func writeSuspension(path string, s host.Suspension) error {
	text, err := marshalIndent(s)
	if err != nil {
		return fmt.Errorf("--save %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("--save: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// findSuspension finds what arg names: a file, or the id of a call that waits. An id is compared and never used as a
// path (T43).
func findSuspension(h *host.Host, arg string) (host.Suspension, error) {
	text, err := readBounded(arg, maxSuspension)
	switch {
	case err == nil:
		return parseSuspension(arg, text)
	case !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(arg, `./\`):
		return host.Suspension{}, usagef("resume: %w", err)
	}
	waiting, err := h.Pending()
	if err != nil {
		return host.Suspension{}, err
	}
	for _, s := range waiting {
		if s.ID == arg {
			return s, nil
		}
	}
	return host.Suspension{}, refused(arg, errors.New("no call waits under this id, and there is no such file: it was decided, has expired, waits in another --state, or never was"))
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return text, err
}

// parseSuspension reads what writeSuspension, --events or the host's own JSON say. The text must be spelled as the host
// spells it, but for blanks: else two texts, such as one with other case in a name or with spare bits in its base64, would
// be one suspension, and a changed byte would go unseen.
func parseSuspension(name string, text []byte) (host.Suspension, error) {
	var s host.Suspension
	if err := json.Unmarshal(text, &s); err != nil {
		return s, refused(name, fmt.Errorf("it is no suspension: %w", err))
	}
	given, err := json.Marshal(json.RawMessage(text))
	if err != nil {
		return s, refused(name, err)
	}
	own, err := json.Marshal(s)
	if err != nil {
		return s, refused(name, err)
	}
	if !bytes.Equal(given, own) {
		return s, refused(name, errors.New("it is not as the host wrote it"))
	}
	return s, nil
}

// refused is the error of a suspension that is none.
func refused(name string, err error) error {
	return &host.Error{
		Op: "resume", Tool: name, Code: host.InvalidResume, Outcome: host.NotStarted,
		Err: &host.ResumeError{Reason: "tampered", Err: err},
	}
}

// shortHash tells suspensions apart for people: the beginning of the SHA-256 of all of it, the sealed part too.
func shortHash(s host.Suspension) string {
	text, err := json.Marshal(s)
	if err != nil { // cannot happen: it came from JSON or goes there
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
