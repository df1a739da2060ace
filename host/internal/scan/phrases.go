package scan

import (
	"strings"
	"sync"
)

// phrases are words that command a model. In one phrase words stand for themselves, | parts alternatives, and ~2 is
// any two words or fewer. What stands between words in a text does not count: "do_not_tell" is three of them. A text
// says "do not" where it writes "don't".
var phrases = []string{
	"ignore|disregard|forget|bypass ~2 previous|prior|earlier|above|preceding|system|your ~2 instruction|instructions|prompt|prompts|rules|guidelines|directions|messages|policies|training",
	"ignore|disregard all|any|your|the ~1 instructions|guidelines|prompts",
	"ignore|disregard|forget everything|anything|all ~1 above|before|previous|previously|prior|you|said",
	"override|overrides|supersede|supersedes ~2 previous|prior|earlier|system|your|all ~2 instruction|instructions|prompt|prompts|guidelines",
	"instruction|instructions|rules ~2 override|overrides|supersede|supersedes|precede",
	"instruction|instructions takes|take precedence",
	"do|must|should|never not|never ~2 tell|inform|notify|alert|warn|show|mention|reveal|disclose|report ~5 user|users|human|humans|person|operator|anyone|anybody",
	"never ~1 tell|inform|notify|alert|mention|reveal|disclose ~5 user|users|human|humans|operator|anyone|anybody",
	"without ~1 telling|informing|notifying|alerting|asking|showing|mentioning ~3 user|human|operator",
	"without ~2 user|users|user's|their|human knowing|knowledge|noticing|awareness|consent",
	"user|users|human must|should|shall|may|can not|never ~1 know|see|notice|learn|be",
	"user|users|human does|do|need|needs not ~2 need|to know|see|hear",
	"keep|hide|conceal ~4 secret|hidden|confidential|from ~3 user|users|human|operator",
	"hide|conceal|withhold ~3 from ~1 user|users|human|operator",
	"before|prior|after to|using|calling|invoking|running|executing ~3 any|every|all|each|another|other ~1 tool|tools|function|functions",
	"before you use|call|invoke|run ~1 any|every|all|another|other ~1 tool|tools|function|functions",
	"whenever|time|when ~3 any|every|another other|tool|tools ~1 is|are called|used|invoked|run",
	"instead|rather of|than ~2 any|all|every|other ~1 other|tool|tools|function|functions",
	"do|never not|use|call ~2 use|call|invoke|trust|any ~1 any|other|another ~1 tool|tools",
	"over|above ~1 all|any|every other tools|tool|functions",
	"secretly|covertly|quietly|silently ~1 send|call|read|forward|copy|execute|upload|include|collect|append|add|bcc|cc",
	"send|forward|post|upload|transmit|include|pass|append|put|copy|provide|leak|exfiltrate|attach|add ~4 system prompt|message|instructions",
	"send|forward|post|upload|transmit|include|pass|append|put|copy|provide|leak|exfiltrate|attach|add|summarize|encode ~2 entire|full|whole|complete|previous|current|user's ~1 conversation|chat|context|transcript|history|dialogue",
	"send|forward|post|upload|transmit|include|pass|append|put|copy|provide|leak|exfiltrate|attach|collect ~3 user's|users|user|all|any|their ~1 credentials|password|passwords|secrets|tokens|cookies|keys",
	"exfiltrate|exfiltrating|exfiltration",
	"reveal|print|output|repeat|leak|disclose|return|show|expose ~2 system|initial|hidden|your ~1 prompt|instructions",
	"ask|asking|get|prompt|trick|persuade|convince ~1 user ~3 password|credentials|token|secret|pin|passphrase",
	"tell|assure|convince|persuade ~1 user that ~6 safe|fine|normal|required|harmless|failed|expired",
	"you are|re now ~1 a|an|in|the|no|free|acting|unrestricted",
	"you are|re no longer",
	"from now on ~1 you|always|never|every|all|ignore|respond|answer",
	"your new|real|true|actual ~1 instructions|instruction|task|role|goal|objective|purpose",
	"new|updated|important|critical|special|hidden|secret|additional system|developer|admin instructions|instruction|prompt|message",
	"pretend|act|behave|respond ~1 as if|though|to you|be ~1 are|have|were|an ~1 unrestricted|no|admin|administrator|root|jailbroken",
	"assistant|llm|chatbot|ai must|shall ~1 always|never|not|first|also|ignore|call|use|read|send|obey|follow",
	"note|attention|message|instruction|instructions to|for|all ~1 assistant|assistants|llm|llms|ai|agents|model|models|claude|gpt|chatgpt|gemini ~6 must|always|never|do|ignore|call|read|send|follow",
	"follow|obey|execute|comply ~1 these|my|hidden|only ~1 instructions|commands|orders",
	"do not ask|wait|seek|request ~2 confirmation|permission|approval|consent|user",
	"skip|bypass|avoid|circumvent|disable ~2 confirmation|permission|approval|approvals|consent|safety|guardrails|filter|filters",
	"pre|already been|approved|authorized|by ~2 administrator|admin|system|operator|user ~3 no|do|not|skip|without ~2 confirmation|ask|approval",
	"do anything now",
	"developer|god|dan|debug mode enabled|activated|unlocked",
	"jailbreak|jailbroken",
	"must|should|always ~1 read|open|load|access|cat ~3 file|contents ~6 pass|send|include|put|append ~4 parameter|argument|field|sidenote|note|it",
}

// compiled is what a phrase says, by its first words.
var compiled = sync.OnceValue(func() map[string][][]element {
	byFirst := map[string][][]element{}
	for _, p := range phrases {
		var all []element
		gap := 0
		for _, word := range strings.Fields(p) {
			if word[0] == '~' {
				gap = int(word[1] - '0')
				continue
			}
			all = append(all, element{gap, strings.Split(word, "|")})
			gap = 0
		}
		for _, first := range all[0].words {
			byFirst[first] = append(byFirst[first], all[1:])
		}
	}
	return byFirst
})

// element is one word of a phrase, which may stand behind up to gap other words.
type element struct {
	gap   int
	words []string
}

// word is one word of a text.
type word struct {
	text string
	at   int
}

// imperative is where the first phrase of a text in lower case begins; -1: there is none.
func imperative(lower string) int {
	words, table := split(lower), compiled()
	for i, w := range words {
		for _, rest := range table[w.text] {
			if follows(words[i+1:], rest) {
				return w.at
			}
		}
	}
	return -1
}

// follows reports whether the rest of a phrase stands at the start of words.
func follows(words []word, rest []element) bool {
	if len(rest) == 0 {
		return true
	}
	for skip := 0; skip <= rest[0].gap && skip < len(words); skip++ {
		for _, want := range rest[0].words {
			if words[skip].text == want && follows(words[skip+1:], rest[1:]) {
				return true
			}
		}
	}
	return false
}

// split is a text's words, which are ASCII letters, digits, apostrophes, and everything that is not ASCII.
func split(lower string) []word {
	var words []word
	for i := 0; i < len(lower); {
		start := i
		for i < len(lower) && inWord(lower[i]) {
			i++
		}
		if i == start {
			i++
			continue
		}
		w := strings.Trim(strings.ReplaceAll(lower[start:i], "’", "'"), "'")
		if verb, not := strings.CutSuffix(w, "n't"); not && verb != "" {
			words = append(words, word{verb, start}, word{"not", start})
			continue
		}
		if w == "dont" {
			words = append(words, word{"do", start}, word{"not", start})
			continue
		}
		words = append(words, word{w, start})
	}
	return words
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '\'' || c >= 0x80
}
