package state

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, KeySize) }

func ring(t testing.TB, keys ...[]byte) *Keyring {
	t.Helper()
	k, err := NewKeyring(keys)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestNewKeyring_Refused(t *testing.T) {
	for says, keys := range map[string][][]byte{
		"none":                  nil,
		"key 1 has 0 bytes":     {nil},
		"key 2 has 31 bytes":    {secret(1), secret(2)[:31]},
		"key 1 has 64 bytes":    {bytes.Repeat([]byte{1}, 64)},
		"key 2 is all zero":     {secret(1), secret(0)},
		"it must have 32":       {[]byte("short")},
		"suspension keys: key ": {[]byte("short")},
	} {
		if k, err := NewKeyring(keys); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v", says, k, err)
		}
	}
}

func TestSeal(t *testing.T) {
	k := ring(t, secret(1))
	for _, size := range []int{0, 1, 15, 16, 17, 4096, MaxSealed} {
		plain, additional := bytes.Repeat([]byte{7}, size), bytes.Repeat([]byte{8}, size)
		sealed, err := k.Seal(plain, additional)
		must(t, err)
		got, err := k.Open(sealed, additional)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %d bytes, %v", size, len(got), err)
		}
	}
	a, _ := k.Seal([]byte("same"), nil)
	b, _ := k.Seal([]byte("same"), nil)
	if bytes.Equal(a, b) {
		t.Error("the nonce is not random")
	}
	if bytes.Contains(a, []byte("same")) {
		t.Error("not encrypted")
	}
}

// Every bit of the sealed bytes and of the fields counts, as do their lengths.
func TestSeal_EveryBitCounts(t *testing.T) {
	k := ring(t, secret(1), secret(2))
	additional := []byte("tool=weather;caller=ann")
	sealed, err := k.Seal([]byte(`{"input":{"location":"Bern"}}`), additional)
	must(t, err)
	refused := func(what string, sealed, additional []byte) {
		t.Helper()
		got, err := k.Open(sealed, additional)
		if got != nil {
			t.Errorf("%s: opened", what)
		}
		as[*TamperedError](t, err)
	}
	for i := range 8 * len(sealed) {
		changed := bytes.Clone(sealed)
		changed[i/8] ^= 1 << (i % 8)
		refused(fmt.Sprint("bit ", i), changed, additional)
	}
	for i := range 8 * len(additional) {
		changed := bytes.Clone(additional)
		changed[i/8] ^= 1 << (i % 8)
		refused(fmt.Sprint("bit of the fields ", i), sealed, changed)
	}
	for n := range len(sealed) {
		refused(fmt.Sprint("the first ", n), sealed[:n], additional)
	}
	refused("more", append(bytes.Clone(sealed), 0), additional)
	refused("fewer fields", sealed, additional[1:])
	refused("no fields", sealed, nil)
	refused("more fields", sealed, append(bytes.Clone(additional), 0))
	refused("moved into the fields", sealed[:len(sealed)-1], append(bytes.Clone(additional), sealed[len(sealed)-1]))

	other, _ := k.Seal([]byte("other"), additional)
	refused("the header of another key", append(ring(t, secret(2)).keys[0].header(nil), other[headerSize:]...), additional)
}

// T30: two keys are accepted; a lost one is said to be lost.
func TestT30_KeyRotation(t *testing.T) {
	before, during, after := ring(t, secret(1)), ring(t, secret(2), secret(1)), ring(t, secret(2))
	old, _ := before.Seal([]byte("x"), nil)
	fresh, _ := during.Seal([]byte("y"), nil)
	for what, tt := range map[string]struct {
		ring   *Keyring
		sealed []byte
		lost   bool
	}{
		"old during":   {during, old, false},
		"fresh during": {during, fresh, false},
		"fresh after":  {after, fresh, false},
		"old after":    {after, old, true},
		"fresh before": {before, fresh, true},
	} {
		_, err := tt.ring.Open(tt.sealed, nil)
		if !tt.lost {
			must(t, err)
			continue
		}
		if e := as[*UnknownKeyError](t, err); e.ID != hex.EncodeToString(tt.sealed[1:5]) || !strings.Contains(e.Error(), "lost") {
			t.Errorf("%s: %v", what, e)
		}
	}
	if got, want := during.IDs(), []string{after.IDs()[0], before.IDs()[0]}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] || len(got[0]) != 8 {
		t.Errorf("%q, %q", got, want)
	}
}

func TestSeal_TooLarge(t *testing.T) {
	k := ring(t, secret(1))
	big := make([]byte, MaxSealed+1)
	_, err := k.Seal(big, nil)
	as[*TooLargeError](t, err)
	_, err = k.Seal(nil, big)
	as[*TooLargeError](t, err)
	_, err = k.Open(make([]byte, MaxSealed+sealOverhead+1), nil)
	as[*TooLargeError](t, err)
	_, err = k.Open(nil, big)
	if e := as[*TooLargeError](t, err); e.Size != MaxSealed+1 || e.Limit != MaxSealed {
		t.Error(e)
	}
}

// T57: a keyring in a log line shows no key.
func TestT57_KeyringPrintsNoKey(t *testing.T) {
	k := ring(t, secret(0xab))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, k); got != fmt.Sprint("keys [", k.IDs()[0], "]") {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

// sealedOnce is "plain" with the fields "fields", sealed with secret(1): what a
// release has sealed, later ones open.
const sealedOnce = "0172cd6e84d4206e25a1d0e92de73d5e3f7f3ab33b14f323af78a2317a6474e415c5dc958bae"

func FuzzKeyringOpen(f *testing.F) {
	k := ring(f, secret(2), secret(1))
	plain, additional := []byte("plain"), []byte("fields")
	sealed, _ := hex.DecodeString(sealedOnce)
	if _, err := k.Open(sealed, additional); err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, additional)
	f.Add([]byte{}, []byte{})
	f.Add(bytes.Repeat([]byte{1}, sealOverhead), additional)
	f.Add(k.keys[1].header(nil), additional)
	f.Fuzz(func(t *testing.T, s, a []byte) {
		got, err := k.Open(s, a)
		if err == nil {
			if !bytes.Equal(s, sealed) || !bytes.Equal(a, additional) || !bytes.Equal(got, plain) {
				t.Fatalf("forged: %x", s)
			}
			return
		}
		_, tampered := errors.AsType[*TamperedError](err)
		_, unknown := errors.AsType[*UnknownKeyError](err)
		if got != nil || !tampered && !unknown {
			t.Fatalf("%v, %v", got, err)
		}
	})
}
