package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// variable is what may stand in ${}: NAME, env:NAME or NAME:-default.
var variable = regexp.MustCompile(`^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-.*)?$`)

// expand puts variables of the environment where text asks for them, as clients do with their own files: ${NAME},
// ${env:NAME} and ${NAME:-default}. $${ stands for ${. What is no variable is a fault at pointer. One that is not set is a fault
// of the entry alone, which it leaves unusable: then text comes back as it is. What a variable holds is not expanded again.
func (d *decoder) expand(pointer, whole string) string {
	var b strings.Builder
	lacks := len(d.lacks)
	for text := whole; ; {
		before, rest, found := strings.Cut(text, "${")
		if !found && len(d.lacks) > lacks {
			return whole
		}
		if !found {
			b.WriteString(text)
			return b.String()
		}
		if plain, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(plain + "${")
			text = rest
			continue
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			d.fault(pointer, "${ without }; write $${ for the two characters")
			return text
		}
		value, err := lookup(inner)
		if unset, ok := errors.AsType[*unsetError](err); ok {
			d.lacks = append(d.lacks, d.faultAt(pointer, unset.Error()))
		} else if err != nil {
			d.fault(pointer, err.Error())
		}
		b.WriteString(before + value)
		text = after
	}
}

// unsetError names a variable that is not set.
type unsetError struct{ name string }

func (e *unsetError) Error() string {
	return fmt.Sprintf("the environment has no %s; set it, or write ${%[1]s:-} if it may be missing", e.name)
}

// lookup returns what ${inner} stands for.
func lookup(inner string) (string, error) {
	m := variable.FindStringSubmatch(inner)
	if m == nil {
		return "", fmt.Errorf("${%s} is not known; ${NAME} is a variable of the environment, and $${ stands for ${", inner)
	}
	value, set := os.LookupEnv(m[1])
	other, hasDefault := strings.CutPrefix(m[2], ":-")
	switch {
	case hasDefault && value == "":
		return other, nil
	case !set:
		return "", &unsetError{m[1]}
	}
	return value, nil
}

// expandMap is expand for every value; nil stays nil.
func (d *decoder) expandMap(pointer string, in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make(map[string]string, len(in))
	for _, name := range names {
		out[name] = d.expand(pointer+"/"+jsonpointer.Escape(name), in[name])
	}
	return out
}
