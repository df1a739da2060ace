package form

import (
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// secretWord is what makes a field look like one that asks for a secret; "" if nothing does.
func secretWord(key string, s rawjson.Object) string {
	if format, _ := s.Text("format"); format == "password" {
		return "format password"
	}
	for _, k := range []string{"writeOnly", "x-sensitive"} {
		if string(s.Get(k)) == "true" {
			return k
		}
	}
	title, _ := s.Text("title")
	for _, text := range []string{key, title} {
		words := " " + strings.Join(splitWords(text), " ") + " "
		for _, w := range secretWords {
			if strings.Contains(words, " "+w+" ") {
				return w
			}
		}
	}
	return ""
}

var secretWords = []string{
	"password", "passwords", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "token", "apikey", "api key", "access key",
	"private key", "secret key", "credential", "credentials", "card number", "credit card", "creditcard", "cardnumber", "cvv", "cvc",
	"pin", "otp", "ssn", "social security", "security code", "recovery phrase", "seed phrase", "iban",
}

// splitWords splits a name or a title into words in lower case: at what is no letter and no digit, and before a
// capital letter that follows a small one.
func splitWords(s string) []string {
	var b strings.Builder
	small := false
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteByte(' ')
			small = false
			continue
		case unicode.IsUpper(r) && small:
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
