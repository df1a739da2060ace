package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/toolhost/toolhost/host"
)

// tokenEnv is the variable that may hold the bearer token. There is no flag for it: others can read command lines.
const tokenEnv = "TOOLHOST_MCP_TOKEN"

// token is one bearer token that is accepted, as its hash, and whose it is.
type token struct {
	subject string
	sum     [sha256.Size]byte
}

// bearer is what a token consists of (RFC 6750), and how long it must be to be no guess.
var bearer = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]{16,}$`)

// maxToken is the largest token file, in bytes.
const maxToken = 8 << 10

// readTokens reads every token that is accepted: of file and of the environment, which are the user's own, and of the
// configuration, name -> file. The variable is taken out of the environment.
func readTokens(file string, named map[string]string) ([]token, error) {
	var all []token
	add := func(subject, text, from string) error {
		if !bearer.MatchString(text) || len(text) > 4096 {
			return usagef("%s: no token: want 16 to 4096 characters of A-Z a-z 0-9 . _ ~ + / = -; openssl rand -hex 32 makes one", from)
		}
		t := token{subject, sha256.Sum256([]byte(text))}
		at := slices.IndexFunc(all, func(other token) bool { return other.sum == t.sum })
		switch {
		case at < 0:
			all = append(all, t)
		case all[at].subject != subject:
			return usagef("%s: the token of %s is that of %s, too: give each one its own; openssl rand -hex 32 makes one", from, subject, all[at].subject)
		}
		return nil
	}
	if text := os.Getenv(tokenEnv); text != "" {
		if err := cmp.Or(os.Unsetenv(tokenEnv), add(caller().Subject, text, "$"+tokenEnv)); err != nil {
			return nil, err
		}
	}
	if file != "" {
		text, err := readToken(file)
		if err = cmp.Or(err, add(caller().Subject, text, file)); err != nil {
			return nil, err
		}
	}
	for name, file := range named {
		text, err := readToken(file)
		if err != nil {
			return nil, err
		}
		if err := add(name, text, file); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readToken reads a file that nobody else can read or change.
func readToken(path string) (string, error) {
	if !isFile(path) {
		return "", usagef("token file %s: no such file", path)
	}
	if bad, ok := errors.AsType[*host.PlaceError](host.CheckPlace(path)); ok {
		return "", usagef("token file %s: %w", path, bad)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", usagef("token file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", usagef("token file: %w", err)
	}
	if !ownedByUser(info) || othersMay(info) {
		return "", usagef("token file %s: mode %04o: others can read it: chmod 600 %[1]s", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", usagef("token file: %w", err)
	}
	return string(trimLine(text)), nil
}

// trimLine is text without the line end that editors add.
func trimLine(text []byte) []byte {
	for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	return text
}

// verifier returns the function that says who the bearer of a token is; nil if there are no tokens. It takes as long for every
// token.
func verifier(tokens []token) func(context.Context, string) (host.Caller, error) {
	if len(tokens) == 0 {
		return nil
	}
	return func(_ context.Context, text string) (host.Caller, error) {
		sum := sha256.Sum256([]byte(text))
		found := -1
		for i, t := range tokens {
			if subtle.ConstantTimeCompare(t.sum[:], sum[:]) == 1 {
				found = i
			}
		}
		if found < 0 {
			return host.Caller{}, fmt.Errorf("the token is none of the %d that are accepted", len(tokens))
		}
		return host.Caller{Subject: tokens[found].subject}, nil
	}
}
