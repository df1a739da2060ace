package schema

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// dialects are the drafts that $schema may name, without scheme and empty fragment.
var dialects = map[string]*jsonschema.Draft{
	"json-schema.org/schema":               jsonschema.Draft2020,
	"json-schema.org/draft/2020-12/schema": jsonschema.Draft2020,
	"json-schema.org/draft/2019-09/schema": jsonschema.Draft2019,
	"json-schema.org/draft-07/schema":      jsonschema.Draft7,
	"json-schema.org/draft-06/schema":      jsonschema.Draft6,
	"json-schema.org/draft-04/schema":      jsonschema.Draft4,
}

// dialectOf says which draft a schema is read as (S-2): what $schema names; without it 2020-12, unless
// array-form items, definitions or dependencies at the place of a keyword show that it was written for
// draft-07.
func dialectOf(v any, showsDraft7 bool) (*jsonschema.Draft, error) {
	root, ok := v.(map[string]any)
	if !ok {
		return jsonschema.Draft2020, nil
	}
	name, ok := root["$schema"].(string)
	if !ok {
		if showsDraft7 {
			return jsonschema.Draft7, nil
		}
		return jsonschema.Draft2020, nil
	}
	bare := strings.TrimSuffix(name, "#")
	bare = strings.TrimPrefix(strings.TrimPrefix(bare, "https://"), "http://")
	if d := dialects[bare]; d != nil {
		return d, nil
	}
	return nil, &CompileError{Path: "/$schema", Cause: "unknown dialect " + quoteText(name) + "; known are draft-04, -06, -07, 2019-09 and 2020-12"}
}
