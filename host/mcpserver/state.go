package mcpserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/internal/schema"
)

// ticket is what a requestState says: which call waits for the answers that come with it. It holds nothing of the
// call's data.
type ticket struct {
	Flight     string `json:"f,omitempty"` // a call that waits in memory
	Round      int    `json:"r,omitempty"` // of its questions; an earlier one is a replay
	Suspension string `json:"s,omitempty"` // or the id of a suspended call, which waits in the host's state directory
	Expires    int64  `json:"e"`           // Unix seconds
}

// sealer makes and opens requestStates. AES-256-GCM keeps a client from reading or changing one, and the additional
// data ties it to who got it, to the tool and to the arguments (T35).
type sealer struct{ aead cipher.AEAD }

// keySize is the length of a key for requestStates.
const keySize = 32

// newSealer returns a sealer with this key, or with a random one if it is empty.
func newSealer(key []byte) (*sealer, error) {
	if len(key) == 0 {
		key = make([]byte, keySize)
		rand.Read(key) // never fails
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("a key for request states has %d bytes: it must have %d", len(key), keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead}, nil
}

// maxState is how long a requestState can be: what is longer was not made here.
const maxState = 1 << 10

func (s *sealer) seal(t ticket, bound []byte) (string, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce) // never fails
	return stateEncoding.EncodeToString(s.aead.Seal(nonce, nonce, plain, bound)), nil
}

var stateEncoding = base64.RawURLEncoding.Strict()

// open returns what was sealed. The error is a *rpcError.
func (s *sealer) open(state string, bound []byte, now time.Time) (ticket, error) {
	var t ticket
	if len(state) > maxState {
		return t, badState("it was changed")
	}
	sealed, err := stateEncoding.DecodeString(state)
	if err != nil || len(sealed) < s.aead.NonceSize() {
		return t, badState("it was changed")
	}
	nonce, text := sealed[:s.aead.NonceSize()], sealed[s.aead.NonceSize():]
	plain, err := s.aead.Open(nil, nonce, text, bound)
	if err != nil {
		return t, badState("it was changed, or belongs to another server, caller or tool, or to other arguments")
	}
	if err := json.Unmarshal(plain, &t); err != nil {
		return t, badState("it is of another version")
	}
	if now.Unix() >= t.Expires {
		return t, badState("it expired")
	}
	return t, nil
}

// badState is the error of a requestState that is not taken. What it belongs to, if it is anything, is not harmed.
func badState(why string) *rpcError {
	return &rpcError{code: codeInvalidParams, message: "tools/call: the requestState is not acceptable: " + why + ". Call the tool again without it."}
}

// bound is what a requestState is bound to: who asks, over which channel, which tool and which arguments.
func bound(r request) []byte {
	h := sha256.New()
	// Strings cannot hide where one ends and the next begins: they are JSON.
	_ = json.NewEncoder(h).Encode([]string{r.caller.Channel, r.caller.Tenant, r.caller.Subject, r.name}) // a hash takes everything
	h.Write(canonical(r.arguments))
	return h.Sum(nil)
}

// canonical is the JSON text with sorted members and without white space: what a client may change when it sends the
// same arguments again. A text that is not JSON, or of more than 1 MiB (T5), is itself.
func canonical(text json.RawMessage) []byte {
	if len(text) == 0 {
		return []byte("{}")
	}
	doc, err := schema.Parse(text, schema.Limits{})
	if err != nil {
		return text
	}
	out, err := json.Marshal(doc.Value())
	if err != nil {
		return text
	}
	return out
}
