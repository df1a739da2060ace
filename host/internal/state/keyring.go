package state

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// MaxSealed is the largest plain text, and the largest additional data, that
// Seal and Open take, in bytes.
const MaxSealed = 4 << 20

// Keyring seals and opens. It may be used at the same time. Printed, it shows
// the ids of its keys and nothing else.
//
// A sealed value is: a version byte, 4 bytes of key id, 12 of nonce, the text
// under AES-256-GCM, 16 of tag. Version and key id are authenticated too.
type Keyring struct {
	keys []key // newest first
}

// key is one key. Its id is the beginning of its SHA-256.
type key struct {
	id   [4]byte
	aead cipher.AEAD
}

const (
	sealVersion = 1
	headerSize  = 1 + len(key{}.id)
	// sealOverhead is what a sealed value has beyond its text.
	sealOverhead = headerSize + 12 + 16
)

// NewKeyring makes a keyring of keys of KeySize bytes, newest first: the first
// one seals, each one opens. The keys are not kept by reference.
func NewKeyring(keys [][]byte) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, errors.New("suspension keys: none")
	}
	k := &Keyring{}
	for i, secret := range keys {
		if len(secret) != KeySize {
			return nil, fmt.Errorf("suspension keys: key %d has %d bytes: it must have %d", i+1, len(secret), KeySize)
		}
		if bytes.Count(secret, []byte{0}) == KeySize {
			return nil, fmt.Errorf("suspension keys: key %d is all zero", i+1)
		}
		block, err := aes.NewCipher(secret)
		if err != nil {
			return nil, fmt.Errorf("suspension keys: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("suspension keys: %w", err)
		}
		sum := sha256.Sum256(secret)
		k.keys = append(k.keys, key{[4]byte(sum[:]), aead})
	}
	return k, nil
}

// IDs lists the ids of the keys, newest first, each of 8 hexadecimal digits.
func (k *Keyring) IDs() []string {
	ids := make([]string, len(k.keys))
	for i, key := range k.keys {
		ids[i] = hex.EncodeToString(key.id[:])
	}
	return ids
}

// Seal encrypts plain, and binds it to additional, which the result does not
// hold. It returns *TooLargeError if one of them is over MaxSealed.
func (k *Keyring) Seal(plain, additional []byte) ([]byte, error) {
	if err := within("value to seal", len(plain), MaxSealed); err != nil {
		return nil, err
	}
	if err := within("fields of a sealed value", len(additional), MaxSealed); err != nil {
		return nil, err
	}
	newest := k.keys[0]
	sealed := make([]byte, 0, len(plain)+sealOverhead)
	sealed = newest.header(sealed)
	return newest.aead.Seal(sealed, nil, plain, newest.bind(additional)), nil
}

// Open returns what was given to Seal. It returns *UnknownKeyError if it was
// sealed with a key that is not in the keyring, *TamperedError if one byte of
// sealed or additional differs, and *TooLargeError beyond the sizes of Seal.
func (k *Keyring) Open(sealed, additional []byte) ([]byte, error) {
	if err := within("sealed value", len(sealed), MaxSealed+sealOverhead); err != nil {
		return nil, err
	}
	if err := within("fields of a sealed value", len(additional), MaxSealed); err != nil {
		return nil, err
	}
	if len(sealed) < sealOverhead {
		return nil, &TamperedError{fmt.Sprintf("it has %d bytes and is cut short", len(sealed))}
	}
	version, id, body := sealed[0], [4]byte(sealed[1:]), sealed[headerSize:]
	known := false
	for _, key := range k.keys {
		plain, err := key.aead.Open(nil, nil, body, key.bind(additional))
		if err == nil && version == sealVersion && id == key.id {
			return plain, nil
		}
		if err == nil { // only the header was changed
			return nil, &TamperedError{"its header was changed"}
		}
		known = known || id == key.id
	}
	switch {
	case version != sealVersion:
		return nil, &TamperedError{fmt.Sprintf("version %d is unknown: it was changed, or made by another release", version)}
	case !known:
		return nil, &UnknownKeyError{hex.EncodeToString(id[:])}
	}
	return nil, &TamperedError{"it, or a field that belongs to it, was changed"}
}

// Format prints the ids of the keys, whatever the verb.
func (k *Keyring) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, fmt.Sprint("keys ", k.IDs())) }

func (k key) header(b []byte) []byte { return append(append(b, sealVersion), k.id[:]...) }

// bind is the additional data under the cipher: the header, then the caller's.
func (k key) bind(additional []byte) []byte {
	return slices.Concat(k.header(nil), additional)
}

func within(what string, size, limit int) error {
	if size > limit {
		return &TooLargeError{what, size, limit}
	}
	return nil
}
