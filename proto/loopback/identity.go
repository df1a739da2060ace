package loopback

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"math/big"
	"net"
	"time"
)

// tokenSize is the length of a token in bytes.
const tokenSize = 32

// hash is the SHA-256 of a certificate.
type hash [sha256.Size]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

// parse reads 64 lower-case hexadecimal digits.
func (h *hash) parse(s string) bool {
	if len(s) != 2*len(h) {
		return false
	}
	_, err := hex.Decode(h[:], []byte(s))
	return err == nil && h.String() == s
}

// identity is a key with its certificate.
type identity struct {
	cert tls.Certificate
	hash hash
}

// newIdentity makes a key and certificate. The other side looks at nothing but their hash:
// the fields are what a certificate must have.
func newIdentity() (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(10, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, sha256.Sum256(der)}, nil
}

// config is the TLS configuration of either side, for a peer with the certificate
// that peer is the hash of.
func (id *identity) config(peer hash) *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{id.cert},
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.CurveP256},
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		// The chain proves nothing here. TLS proves that the peer has the key; that it is
		// the right one is checked in every handshake by VerifyConnection.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errPeer
			}
			got := hash(sha256.Sum256(s.PeerCertificates[0].Raw))
			if subtle.ConstantTimeCompare(got[:], peer[:]) != 1 {
				return errPeer
			}
			return nil
		},
	}
}

var errPeer = errors.New("the other side has another certificate than was announced")

// conn is a connection without the good-bye of TLS, which may wait 5 s for a peer
// that does not read: the end of the connection is the end.
type conn struct {
	*tls.Conn
	raw net.Conn
}

func (c conn) Close() error { return c.raw.Close() }
