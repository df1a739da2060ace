package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

const (
	keyName = "key"
	// keysKept is how many keys a rotation leaves: the new one and the last.
	keysKept = 2
)

// Keys returns the keyring of the given keys, newest first, or, if there are
// none, that of the directory, for which a key is made if it has none yet: of
// any number of processes that ask at the same moment, all get the same one.
// Given keys cost no I/O. A key file that is damaged is a *CorruptError, never
// replaced. If d.NoDump is set, the process is protected first.
func (d *Dir) Keys(given [][]byte) (*Keyring, error) {
	if d.NoDump {
		if err := NoDump(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("suspension keys: %w", err)
		}
	}
	if len(given) > 0 {
		return NewKeyring(given)
	}
	var ring *Keyring
	err := d.use(func(s *session) error {
		keys, err := s.readKeys()
		if errors.Is(err, fs.ErrNotExist) {
			keys, err = s.addKey(nil)
		}
		if err == nil {
			ring, err = NewKeyring(keys)
		}
		wipe(keys)
		return err
	})
	return ring, err
}

// RotateKeys makes a new key for the directory. What was sealed with the key
// before it can still be opened, with earlier ones not. Keyrings that are loaded
// do not change.
func (d *Dir) RotateKeys() error {
	return d.use(func(s *session) error {
		keys, err := s.readKeys()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		keys, err = s.addKey(keys)
		wipe(keys)
		return err
	})
}

// RevokeKeys makes a new key for the directory and forgets all others, damaged
// ones too: nothing sealed before can be opened again.
func (d *Dir) RevokeKeys() error {
	return d.use(func(s *session) error {
		keys, err := s.addKey(nil)
		wipe(keys)
		return err
	})
}

// readKeys reads the key file.
func (s *session) readKeys() ([][]byte, error) {
	data, more, err := s.read(keyName, keysKept*(hex.EncodedLen(KeySize)+1))
	if err != nil {
		return nil, err
	}
	defer clear(data)
	keys, err := parseKeys(string(data))
	if more {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, &CorruptError{filepath.Join(s.path, keyName), err,
			"put a copy back, or remove it, after which what it sealed cannot be resumed"}
	}
	return keys, nil
}

// parseKeys reads one or more keys, one a line. Errors quote nothing.
func parseKeys(text string) ([][]byte, error) {
	text, ok := strings.CutSuffix(text, "\n")
	if !ok {
		return nil, errors.New("it is cut short")
	}
	var keys [][]byte
	for line := range strings.SplitSeq(text, "\n") {
		key, err := hex.DecodeString(line)
		if err != nil || len(key) != KeySize {
			return nil, fmt.Errorf("line %d is no key", len(keys)+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// addKey puts a new key before the others, and the file in the place of the old.
func (s *session) addKey(keys [][]byte) ([][]byte, error) {
	fresh := make([]byte, KeySize)
	_, _ = rand.Read(fresh) // never fails
	keys = append([][]byte{fresh}, keys...)
	keys = keys[:min(len(keys), keysKept)]
	var data []byte
	for _, key := range keys {
		data = append(hex.AppendEncode(data, key), '\n')
	}
	defer clear(data)
	return keys, s.replace(keyName, data)
}

func wipe(keys [][]byte) {
	for _, key := range keys {
		clear(key)
	}
}
