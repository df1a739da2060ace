package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// V-16 as decided: what the text repair mends, and that it touches nothing else.
func TestV16_Mend(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"control tokens between tokens", `<|call|>{<|a b|>"a"<|x|>:<|x|>1<|x|>,<|x|>"b":2}<|end_of_turn|>`, `{"a":1,"b":2}`},
		{"control tokens stay in strings", `{"a":"<|x|>","b":'<|y|>',}`, `{"a":"<|x|>","b":"<|y|>"}`},
		{"single quotes", `{'a':'b'}`, `{"a":"b"}`},
		{"double quotes in single ones", `{'a':'say "hi"'}`, `{"a":"say \"hi\""}`},
		{"escaped ones too", `{'a':'\"x\\'}`, `{"a":"\"x\\"}`},
		{`\' in single quotes`, `{'a':'it\'s'}`, `{"a":"it's"}`},
		{"single quotes in double ones", `{"a":"it's",}`, `{"a":"it's"}`},
		{"bare names", `{a:1, $b_2 :2,c-d:3,été:4}`, `{"a":1, "$b_2" :2,"c-d":3,"été":4}`},
		{"bare names that are words", `{true:null,null:true}`, `{"true":null,"null":true}`},
		{"the first quote of a name missing", `{a":1,b':2}`, `{"a":1,"b":2}`},
		{"comma at the end of an object", `{"a":1 , }`, `{"a":1  }`},
		{"comma at the end of an array", `[1,[2,],]`, `[1,[2]]`},
		{"commas in strings stay", `{"a":"x,}","b":",]",}`, `{"a":"x,}","b":",]"}`},
		{"names in strings stay", `{"a":"{b:1, 'c':2}",}`, `{"a":"{b:1, 'c':2}"}`},
		{"dates in strings stay", `{"a":": 2026-01-02 ",}`, `{"a":": 2026-01-02 "}`},
		{"bare date after a colon", `{"a":2026-01-02}`, `{"a":"2026-01-02"}`},
		{"bare date-times", `[2026-01-02T10:20,2026-01-02T10:20:30Z ,2026-01-02T10:20:30.125+02:00]`, `["2026-01-02T10:20","2026-01-02T10:20:30Z" ,"2026-01-02T10:20:30.125+02:00"]`},
		{"byte order mark", "\uFEFF{}", `{}`},
		{"byte order mark and fence", "\uFEFF ```json\n{\"a\":1}\n``` \n", " \n{\"a\":1}\n \n"},
		{"fence without a language", "```\n[1]\n```", "\n[1]\n"},
		{"fence on one line", "```json {\"a\":\"```\"}```", " {\"a\":\"```\"}"},
		{"raw control characters", "{\"a\":\"x\n\ty\x00\x1f\"}", `{"a":"x\n\ty\u0000\u001f"}`},
		{"raw control characters in a name", "{'a\nb':1}", `{"a\nb":1}`},
		{"all else stays", "{ \"a\" :\t-1.50e+2 ,\"\\u00e9\\ud83d\\ude00\":[ ],b:{ }}", "{ \"a\" :\t-1.50e+2 ,\"\\u00e9\\ud83d\\ude00\":[ ],\"b\":{ }}"},
		{"a string alone", `'x'`, `"x"`},
		{"a comma before a bracket, with tokens", `[1,<|x|>]<|y|>`, `[1]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := mend(c.text, Limits{})
			if err != nil || string(got) != c.want {
				t.Fatalf("%s\ngot  %s %v\nwant %s", c.text, got, err, c.want)
			}
			if d, repairs, err := (*Schema)(nil).Read([]byte(c.text), Limits{}, ReadOptions{}); err != nil || len(repairs) != 1 || repairs[0] != (Repair{Kind: "text"}) || string(d.Bytes()) != c.want {
				t.Errorf("Read: %v %v", repairs, err)
			}
			if _, _, err := (*Schema)(nil).Read([]byte(c.text), Limits{}, off(RepairText)); err == nil {
				t.Error("read although the text repair is off")
			}
			if again, err := mend(c.want, Limits{}); err != nil || string(again) != c.want {
				t.Errorf("mended again: %s %v", again, err)
			}
		})
	}
}

// V-17: what is refused says where.
func TestV17_RefusedWithPosition(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"Python True", `{"a": True}`, `line 1, column 7: expected a value, got 'T'`},
		{"Python None", `[None]`, `line 1, column 2: expected a value, got 'N'`},
		{"line comment", "{\"a\":1, // one\n}", `line 1, column 9: expected a member name, got '/'`},
		{"block comment", `[1 /* one */]`, `line 1, column 4: expected ',' or ']', got '/'`},
		{"hash comment", "# x\n{}", `line 1, column 1: expected a value, got '#'`},
		{"prose before", `Here it is: {"a":1}`, `line 1, column 1: expected a value, got 'H'`},
		{"prose after", `{"a":1} is it`, `line 1, column 9: expected the end of the text, got 'i'`},
		{"prose around a fence", "ok:\n```\n{}\n```", `line 1, column 1: expected a value, got 'o'`},
		{"prose after a fence", "```\n{}\n``` ok", `line 3, column 5: expected the end of the text, got 'o'`},
		{"second value", `{} {}`, `line 1, column 4: expected the end of the text, got '{'`},
		{"extra bracket", `{"a":1}}`, `line 1, column 8: expected the end of the text, got '}'`},
		{"missing comma", `{"a":1 "b":2}`, `line 1, column 8: expected ',' or '}', got '"'`},
		{"missing comma in an array", `[1 2]`, `line 1, column 4: expected ',' or ']', got '2'`},
		{"missing comma after a repair", `{a:1 b:2}`, `line 1, column 6: expected ',' or '}', got 'b'`},
		{"two commas", `[1,,2]`, `line 1, column 4: expected a value, got ','`},
		{"first comma", `{,}`, `line 1, column 2: expected a member name, got ','`},
		{"lone high surrogate", `{"a":"\ud800"}`, `line 1, column 7: expected both halves of a surrogate pair, got '\\'`},
		{"lone low surrogate", `{'a':'\udc00'}`, `line 1, column 7: expected both halves`},
		{"not UTF-8", "{a:\"\xff\"}", `line 1, column 5: expected UTF-8, got the byte 0xff`},
		{"cut off in a string", `{"a":"b`, `line 1, column 8: expected '"' at the end of a string, got the end of the text`},
		{"cut off in single quotes", `{'a':'b"}`, `expected ''' at the end of a string, got the end of the text`},
		{"cut off after a value", `{"a":1`, `line 1, column 7: expected ',' or '}', got the end of the text`},
		{"cut off after a comma", `{a:1,`, `line 1, column 6: expected a member name, got the end of the text`},
		{"cut off after a colon", `{a:`, `line 1, column 4: expected a value, got the end of the text`},
		{"cut off in a word", `[tru`, `line 1, column 2: expected a value`},
		{"cut off in an array", `[[1,2]`, `line 1, column 7: expected ',' or ']', got the end of the text`},
		{"cut off fence", "```json\n{}", `line 2, column 3: expected the end of the code fence, got the end of the text`},
		{"two fences", "``````json\n{}\n``````", `expected a value, got '` + "`'"},
		{`\' in double quotes`, `{"a":"it\'s"}`, `line 1, column 10: expected an escape sequence`},
		{"bare value", `{"a":hello}`, `line 1, column 6: expected a value, got 'h'`},
		{"bare date alone", `2026-01-02`, `line 1, column 5: expected the end of the text, got '-'`},
		{"no such date", `[2026-02-30]`, `line 1, column 6: expected ',' or ']', got '-'`},
		{"something stuck to a date", `[2026-01-02x]`, `line 1, column 6: expected`},
		{"a date as a name", `{2026-01-02:1}`, `line 1, column 2: expected a member name, got '2'`},
		{"a number as a name", `{1:1}`, `line 1, column 2: expected a member name, got '1'`},
		{"plus", `[+1]`, `line 1, column 2: expected a value, got '+'`},
		{"a point first", `[.5]`, `line 1, column 2: expected a value, got '.'`},
		{"NaN", `[NaN]`, `line 1, column 2: expected a value, got 'N'`},
		{"missing colon", `{a 1}`, `line 1, column 4: expected ':', got '1'`},
		{"wrong bracket", `[1}`, `line 1, column 3: expected ',' or ']', got '}'`},
		{"an open control token", `<|call {"a":1}`, `line 1, column 1: expected a value, got '<'`},
		{"a control token with a text in it", `<|{"a":1}|>`, `line 1, column 1: expected a value, got '<'`},
		{"typographic quotes", `{“a”:1}`, `line 1, column 2: expected a member name, got '“'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, repairs, err := (*Schema)(nil).Read([]byte(c.text), Limits{}, ReadOptions{})
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) || len(repairs) > 0 {
				t.Errorf("%s\ngot  %v %v\nwant %s", c.text, err, repairs, c.want)
			}
		})
	}
}

// No text that was cut off is completed, wherever it was cut.
func TestV17_NothingCutOffIsCompleted(t *testing.T) {
	for _, text := range []string{
		`{a:'b',"c":[1,{d":2026-01-02,},],}`, "```json\n{'a':[true,'x\\'y']}\n```", `["<|x|>",-1.5e3,"\ud83d\ude00"]`, `"{\"a\":1}"`,
	} {
		if _, _, err := (*Schema)(nil).Read([]byte(text), Limits{}, ReadOptions{}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for i := 1; i < len(text); i++ {
			if d, _, err := (*Schema)(nil).Read([]byte(text[:i]), Limits{}, ReadOptions{}); err == nil {
				t.Errorf("%s: completed to %s", text[:i], d.Bytes())
			}
		}
	}
}

func TestMend_Limits(t *testing.T) {
	var limit *LimitError
	deep := strings.Repeat("[", 300) + "'x'" + strings.Repeat("]", 300)
	if _, err := mend(deep, Limits{}); !errors.As(err, &limit) || limit.Max != 200 {
		t.Errorf("deep: %v", err)
	}
	if d, _, err := (*Schema)(nil).Read([]byte(strings.Repeat("[", 200)+"'x'"+strings.Repeat("]", 200)), Limits{}, ReadOptions{}); err != nil || d == nil {
		t.Errorf("200 levels: %v", err)
	}
	grows := `{"a":"` + strings.Repeat("\x01", 1000) + `"}`
	if _, _, err := (*Schema)(nil).Read([]byte(grows), Limits{Bytes: 2000}, ReadOptions{}); !errors.As(err, &limit) || limit.What != "bytes of text" {
		t.Errorf("grown: %v", err)
	}
	if _, _, err := (*Schema)(nil).Read([]byte(fmt.Sprintf(`{a:1%s}`, strings.Repeat("0", 500))), Limits{}, ReadOptions{}); !errors.As(err, &limit) || limit.What != "digits in a number" {
		t.Errorf("digits: %v", err)
	}
}
