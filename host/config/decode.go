package config

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// decoder turns a document that satisfies the schema into package host's data. What the schema cannot say,
// such as that a duration is in range, becomes a fault.
type decoder struct {
	name   string // of the file, for errors
	dir    string
	doc    *document
	faults []Fault
	lacks  []Fault // variables that are not set, of the entry of mcp that is decoded
}

type fileJSON struct {
	Plugins map[string]pluginJSON `json:"plugins"`
	Tools   map[string]string     `json:"tools"`
	Policy  policyJSON            `json:"policy"`
	Limits  map[string]any        `json:"limits"`

	Watch       *string          `json:"watch"`
	Early       string           `json:"early"`
	Definitions host.Definitions `json:"definitions"`

	MCP   map[string]serverJSON `json:"mcp"`
	Serve serveJSON             `json:"serve"`
}

// earlyWords are the words of the block early; none is the default.
var earlyWords = map[string]host.Early{
	"decided": host.EarlyDecided, "always": host.EarlyAlways, "never": host.EarlyNever,
}

type pluginJSON struct {
	Path     string            `json:"path"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Settings json.RawMessage   `json:"settings"`
	Sandbox  json.RawMessage   `json:"sandbox"`
	Trusted  bool              `json:"trusted"`
	Grant    host.Grant        `json:"grant"`
	SHA256   string            `json:"sha256"`
	Limits   map[string]any    `json:"limits"`

	Definitions *host.Definitions `json:"definitions"`
}

func (d *decoder) file(path string) *File {
	var in fileJSON
	if err := json.Unmarshal(d.doc.json, &in); err != nil {
		d.fault("", err.Error())
		return nil
	}
	out := &File{Path: path, Tools: in.Tools, Early: earlyWords[in.Early], Definitions: in.Definitions}
	for name, p := range in.Plugins {
		out.Plugins = append(out.Plugins, d.plugin(name, p))
	}
	slices.SortFunc(out.Plugins, func(a, b host.Plugin) int { return strings.Compare(a.Name, b.Name) })
	out.Policy = d.policy(path, in.Policy, in.Tools)
	d.limits("/limits", in.Limits, &out.Limits)
	out.Servers, out.Serve = d.servers(in.MCP, in.Plugins), d.serve(in.Serve)
	if in.Watch != nil {
		n, err := duration(*in.Watch)
		if err != nil {
			d.fault("/watch", err.Error())
		}
		out.Watch = time.Duration(n)
	}
	slices.SortStableFunc(d.faults, func(a, b Fault) int { return a.Line - b.Line })
	return out
}

func (d *decoder) plugin(name string, in pluginJSON) host.Plugin {
	at := "/plugins/" + jsonpointer.Escape(name)
	out := host.Plugin{
		Name: name, Args: in.Args, Settings: in.Settings, Sandbox: d.sandbox(at+"/sandbox", in.Sandbox), Trusted: in.Trusted, Grant: in.Grant,
		SHA256: strings.ToLower(in.SHA256), Definitions: in.Definitions,
	}
	var err error
	if out.Path, err = d.path(in.Path); err != nil {
		d.fault(at+"/path", err.Error())
	}
	for key, value := range in.Env {
		if strings.ContainsRune(value, 0) {
			d.fault(at+"/env/"+jsonpointer.Escape(key), "a NUL character; an environment variable cannot hold one")
		}
		out.Env = append(out.Env, key+"="+value)
	}
	slices.Sort(out.Env)
	for i, arg := range in.Args {
		if strings.ContainsRune(arg, 0) {
			d.fault(at+"/args/"+strconv.Itoa(i), "a NUL character; an argument cannot hold one")
		}
	}
	d.limits(at+"/limits", in.Limits, &out.Limits)
	return out
}

// path resolves ~/ and paths relative to the file.
func (d *decoder) path(p string) (string, error) {
	if strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("a NUL character; no file has one in its name")
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no home directory for ~/: %w", err)
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p), nil
	}
	return filepath.Join(d.dir, p), nil
}

// limits sets the fields of out that in names. Keys are the field names in lower camel case; the test
// TestSchemaMatchesStructs holds schema and struct together.
func (d *decoder) limits(pointer string, in map[string]any, out *host.Limits) {
	v := reflect.ValueOf(out).Elem()
	for i := range v.NumField() {
		name := key(v.Type().Field(i).Name)
		given, ok := in[name]
		if !ok {
			continue
		}
		var n int64
		var err error
		if v.Field(i).Type() == reflect.TypeFor[time.Duration]() {
			n, err = duration(given)
		} else {
			n, err = size(given, math.MaxInt32)
		}
		if err != nil {
			d.fault(pointer+"/"+name, err.Error())
			continue
		}
		v.Field(i).SetInt(n)
	}
}

func (d *decoder) fault(pointer, message string) {
	d.faults = append(d.faults, d.faultAt(pointer, message))
}

func (d *decoder) faultAt(pointer, message string) Fault {
	line, column := d.doc.at(pointer, false)
	return Fault{Line: line, Column: column, Path: dotted(pointer), Message: message}
}

// key turns a Go field name into the file's: PingWait -> pingWait, SHA256 -> sha256.
func key(field string) string {
	if strings.ToUpper(field) == field {
		return strings.ToLower(field)
	}
	return strings.ToLower(field[:1]) + field[1:]
}

func duration(given any) (int64, error) {
	text, _ := given.(string) // the schema says that it is one
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	if d <= 0 {
		return 0, fmt.Errorf("%q is not above zero; leave the key out for the default", text)
	}
	return int64(d), nil
}

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// size reads a number of bytes, or of anything that is counted.
func size(given any, most float64) (int64, error) {
	n, isNumber := given.(float64)
	if text, ok := given.(string); ok {
		for _, u := range sizeUnits {
			if number, ok := strings.CutSuffix(text, u.suffix); ok {
				f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
				if err != nil {
					return 0, fmt.Errorf("%q is no size", text)
				}
				n, isNumber = f*u.bytes, true
				break
			}
		}
	}
	switch {
	case !isNumber:
		return 0, fmt.Errorf("%v is no size", given)
	case n < 1:
		return 0, fmt.Errorf("%v is not above zero; leave the key out for the default", given)
	case n > most && most == math.MaxInt32:
		return 0, fmt.Errorf("%v is more than 2 GiB (or 2,147,483,647)", given)
	case n >= most:
		return 0, fmt.Errorf("%v is out of range", given)
	}
	return int64(n), nil
}
