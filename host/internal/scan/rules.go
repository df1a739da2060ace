package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var roleMarks = []string{
	"<important>", "<system>", "</system>", "<|im_start|>", "<|im_end|>", "<|system|>", "<|assistant|>", "<|user|>",
	"<system_prompt>", "<system-reminder>", "<instructions>", "<assistant>", "<hidden>", "<secret>", "[inst]", "[/inst]",
	"<<sys>>", "[system]", "### system", "### instruction", "\nsystem:", "\n\nhuman:", "\n\nassistant:",
}

// roleMarkup is where a mark of a role in a conversation stands.
func roleMarkup(lower string) int {
	if !strings.ContainsAny(lower, "<[#\n") {
		return -1
	}
	return firstOf(lower, roleMarks)
}

var secretNames = []string{
	"~/.ssh", ".ssh/", ".ssh\\", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "authorized_keys", "/etc/passwd", "/etc/shadow", "/etc/sudoers",
	".aws/credentials", ".aws\\credentials", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".kube/config", ".docker/config.json",
	".gnupg", "/proc/self/environ", "wallet.dat", ".bash_history", ".zsh_history", ".config/gcloud", ".azure/", ".pgpass",
	".cursor/mcp.json", "claude_desktop_config.json", "login.keychain", "/var/run/secrets", "169.254.169.254",
}

// secretPath is where the name of a file with secrets stands.
func secretPath(lower string) int {
	at := firstOf(lower, secretNames)
	for i := 0; ; i++ { // .env, and not process.env or .environment
		next := strings.Index(lower[i:], ".env")
		if next < 0 {
			return at
		}
		i += next
		before, _ := utf8.DecodeLastRuneInString(lower[:i])
		after, _ := utf8.DecodeRuneInString(lower[i+len(".env"):])
		if (i == 0 || !letterOrDigit(before) && before != ')' && before != ']' && before != '*') && !letterOrDigit(after) && after != '_' && (at < 0 || i < at) {
			return i
		}
	}
}

func letterOrDigit(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// placeholder is where a URL begins that has a place to fill in.
func placeholder(lower string) int {
	for i := 0; ; {
		next := strings.Index(lower[i:], "://")
		if next < 0 {
			return -1
		}
		i += next
		url := lower[i+3:]
		if end := strings.IndexAny(url, " \t\r\n\"'`"); end >= 0 {
			url = url[:end]
		}
		open := strings.IndexAny(url, "{<[$%")
		for ; open >= 0; open = after(url, open) {
			if fillIn(url[open:]) {
				return schemeStart(lower, i)
			}
		}
		i += 3
	}
}

// after is the next place in url behind at that may be one to fill in.
func after(url string, at int) int {
	next := strings.IndexAny(url[at+1:], "{<[$%")
	if next < 0 {
		return -1
	}
	return at + 1 + next
}

// fillIn reports whether s begins with {x}, <x>, [x] that is no IPv6 address, $x or %s.
func fillIn(s string) bool {
	for open, end := range map[byte]string{'{': "}", '<': ">", '[': "]"} {
		if s[0] != open {
			continue
		}
		inside, _, closed := strings.Cut(s[1:], end)
		return closed && inside != "" && !strings.Contains(inside, ":")
	}
	if len(s) < 2 {
		return false
	}
	if s[0] == '$' {
		return s[1] >= 'a' && s[1] <= 'z'
	}
	return s[1] == 's' && (len(s) == 2 || !hexDigit(s[2]))
}

func hexDigit(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// schemeStart is where the scheme begins that ends at end.
func schemeStart(lower string, end int) int {
	for end > 0 && lower[end-1] >= 'a' && lower[end-1] <= 'z' {
		end--
	}
	return end
}

// base64Min is the shortest block that is taken for base64: one line of a mail.
const base64Min = 72

// base64Block is where a long run of base64 digits stands that has letters of both cases and numerals, as a hash in
// hexadecimal has not.
func base64Block(s string) int {
	const upper, lower, digit = 1, 2, 4
	start, kinds := 0, 0
	for i := 0; i <= len(s); i++ {
		c := byte(' ')
		if i < len(s) {
			c = s[i]
		}
		switch {
		case c >= 'A' && c <= 'Z':
			kinds |= upper
		case c >= 'a' && c <= 'z':
			kinds |= lower
		case c >= '0' && c <= '9':
			kinds |= digit
		case c == '+', c == '/', c == '-', c == '_':
		default:
			if i-start >= base64Min && kinds == upper|lower|digit {
				return start
			}
			start, kinds = i+1, 0
		}
	}
	return -1
}

// mixedScript is where a word begins that has Latin letters and some of another script that look like Latin ones.
func mixedScript(s string) int {
	start, latin, alike := -1, 0, 0
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
			latin++
		case latinOf(r) != 0:
			alike++
		case unicode.IsLetter(r):
		default:
			if latin >= 2 && alike > 0 {
				return start
			}
			start, latin, alike = -1, 0, 0
			continue
		}
		if start < 0 {
			start = i
		}
	}
	if latin >= 2 && alike > 0 {
		return start
	}
	return -1
}

// firstOf is where the first of these stands.
func firstOf(s string, names []string) int {
	first := -1
	for _, name := range names {
		if i := strings.Index(s, name); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}
