package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the model gets beside the message: the words are a contract.
func TestFailure_JSON(t *testing.T) {
	for kind, word := range map[string]string{
		kindInput: "invalid_input", kindNotFound: "not_found", kindRejected: "rejected", kindLimited: "rate_limited",
		kindServer: "server_error", kindMalformed: "malformed", kindTooLarge: "too_large", kindTimeout: "timeout",
		kindUnreachable: "unreachable",
	} {
		got, err := json.Marshal(&failure{Provider: "wttr.in", Host: "wttr.in", Kind: kind, Status: 429, RetryAfter: 7, cause: "c"})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"provider":"wttr.in","host":"wttr.in","kind":"` + word + `","status":429,"retryable":false,"retryAfterSeconds":7}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
