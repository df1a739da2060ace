package project

import (
	"encoding/hex"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// listedAs makes a tool from the name under which the host lists it, and plugin/id.
func listedAs(name, full string) host.Tool {
	plugin, id, _ := strings.Cut(full, "/")
	return host.Tool{Name: name, Plugin: plugin, ID: id}
}

// fullNames are the names with what they call.
func fullNames(exported map[string]host.Tool) map[string]string {
	out := map[string]string{}
	for name, t := range exported {
		out[name] = t.Plugin + "/" + t.ID
	}
	return out
}

func TestR8_R9_R11_ExportedNames(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, c := range []struct {
		about   string
		tools   []host.Tool
		prefix  bool
		budget  int
		want    map[string]string
		reports []string
	}{
		{"an id is a name", []host.Tool{listedAs("weather", "weather/weather")}, false, 15, map[string]string{"weather": "weather/weather"}, nil},
		{
			"R11: an id of two plugins belongs to neither", []host.Tool{listedAs("search", "notes/search"), listedAs("wiki/search", "wiki/search"), listedAs("add", "notes/add")}, false, 15,
			map[string]string{"notes__search": "notes/search", "wiki__search": "wiki/search", "add": "notes/add"},
			[]string{"tool notes/search is exported as notes__search: other plugins have a tool of that id too", "tool wiki/search is exported as wiki__search: other plugins have a tool of that id too"},
		},
		{"an imported id stays", []host.Tool{listedAs("files_x2f_read", "far/files_x2f_read")}, false, 15, map[string]string{"files_x2f_read": "far/files_x2f_read"}, nil},
		{"and with its prefix", []host.Tool{listedAs("files_x2f_read", "far/files_x2f_read")}, true, 15, map[string]string{"far__files_x2f_read": "far/files_x2f_read"}, nil},
		{
			"an alias that is written like an id", []host.Tool{listedAs("a_x2eb", "p/a_x2eb"), listedAs("a.b", "p/a_x2eb")}, false, 15,
			map[string]string{"a_x2eb_97af091a": "p/a_x2eb", "a_x2eb_cc4888ba": "p/a_x2eb"},
			[]string{
				"tool p/a_x2eb (alias a.b) is exported as a_x2eb_97af091a: another tool would have that name",
				"tool p/a_x2eb is exported as a_x2eb_cc4888ba: another tool would have that name",
			},
		},
		{"prefix", []host.Tool{listedAs("search", "notes/search")}, true, 15, map[string]string{"notes__search": "notes/search"}, nil},
		{
			"N-1: an alias is a name of its own", []host.Tool{listedAs("search", "notes/search"), listedAs("find.all/of it", "notes/search")}, false, 15,
			map[string]string{"search": "notes/search", "find_x2eall_x2fof_x20it": "notes/search"},
			[]string{"tool notes/search (alias find.all/of it) is exported as find_x2eall_x2fof_x20it: clients take letters, digits, _ and - only"},
		},
		{
			"R8: over the length", []host.Tool{listedAs(long, "p/"+long)}, false, 15,
			map[string]string{long[:40] + "_b4ddbd3c": "p/" + long},
			[]string{"tool p/" + long + " is exported as " + long[:40] + "_b4ddbd3c: 64 characters are over 49"},
		},
		{"no budget", []host.Tool{listedAs(long, "p/"+long)}, false, -1, map[string]string{long: "p/" + long}, nil},
		{
			"two rules give one name", []host.Tool{listedAs("a__b", "x/a__b"), listedAs("b", "a/b"), listedAs("c/b", "c/b")}, false, 15,
			map[string]string{"a__b_cd0e27c6": "x/a__b", "a__b_c14cddc0": "a/b", "c__b": "c/b"},
			[]string{
				"tool a/b is exported as a__b_c14cddc0: another tool would have that name", "tool c/b is exported as c__b: other plugins have a tool of that id too",
				"tool x/a__b is exported as a__b_cd0e27c6: another tool would have that name",
			},
		},
	} {
		got, reports := exportNames(c.tools, c.prefix, c.budget)
		if diff := cmp.Diff(c.want, fullNames(got)); diff != "" {
			t.Errorf("%s: %s", c.about, diff)
		}
		if diff := cmp.Diff(c.reports, reports); diff != "" {
			t.Errorf("%s: %s", c.about, diff)
		}
	}
}

// Whatever the tools and their order: every tool has a name, none has another's, all fit the length and the characters.
func TestR10_R11_NamesAreUniqueAndStable(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { // long ones that differ late, and ones that clash
		base := []string{"a", "a__b", "_x2e", "b_", strings.Repeat("n", 40), strings.Repeat("n", 55)}[r.IntN(6)]
		return base + []string{"", "", "_", "x", "2"}[r.IntN(5)]
	}
	for round := range 400 {
		var tools []host.Tool
		ids := map[string]bool{}
		for range 1 + r.IntN(12) {
			plugin, id := word(), word()
			if ids[plugin+"/"+id] {
				continue
			}
			name := id
			if ids[id] {
				name = plugin + "/" + id
			}
			ids[plugin+"/"+id], ids[id] = true, true
			tools = append(tools, listedAs(name, plugin+"/"+id))
			if alias := word() + ".é "; r.IntN(4) == 0 && !ids[alias] {
				ids[alias] = true
				tools = append(tools, listedAs(alias, plugin+"/"+id))
			}
		}
		prefix, budget := r.IntN(2) == 0, r.IntN(50)
		got, reports := exportNames(tools, prefix, budget)
		if len(got) != len(tools) {
			t.Fatalf("round %d: %d names for %d tools: %v", round, len(got), len(tools), fullNames(got))
		}
		for name := range got {
			if !valid.MatchString(name) || len(name) > 64-min(budget, 40) {
				t.Fatalf("round %d: name %q with budget %d", round, name, budget)
			}
		}
		r.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		again, sameReports := exportNames(tools, prefix, budget)
		if diff := cmp.Diff(fullNames(got), fullNames(again)); diff != "" {
			t.Fatalf("round %d: another order, other names: %s", round, diff)
		}
		if diff := cmp.Diff(reports, sameReports); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

func TestR9_NamesAreMappedReversibly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string]string{}
	check := func(name string) {
		t.Helper()
		out := escapeName(name)
		if back := originalName(out); back != name {
			t.Fatalf("%q -> %q -> %q", name, out, back)
		}
		if strings.Trim(out, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			t.Fatalf("%q -> %q", name, out)
		}
		if was, ok := seen[out]; ok && was != name {
			t.Fatalf("%q and %q are both %q", was, name, out)
		}
		seen[out] = name
	}
	for _, name := range []string{"get_weather", "a-b", "a.b/c d", "_x2e", "_x5fx2e", "__x2e", "_x.", "é", "\xff", ""} {
		check(name)
	}
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(10) {
			b.WriteString([]string{"_", "x", "_x", "2", "e", "5f", ".", "/", " ", "é", "A", "-"}[r.IntN(12)])
		}
		check(b.String())
	}
	for _, name := range []string{"get_weather", "x2e", "a__b", "_", "_x2", "_X2e", "_x2E"} {
		if escapeName(name) != name {
			t.Errorf("%s became %s", name, escapeName(name))
		}
	}
}

func FuzzR9_Names(f *testing.F) {
	f.Add("_x2e.")
	f.Fuzz(func(t *testing.T, name string) {
		if back := originalName(escapeName(name)); back != name {
			t.Fatalf("%q -> %q -> %q", name, escapeName(name), back)
		}
	})
}

// exportNames are the names that tools get, and a line for each that is no tool's own.
func exportNames(tools []host.Tool, prefix bool, budget int) (exported map[string]host.Tool, reports []string) {
	exported = map[string]host.Tool{}
	for _, r := range Names(tools, prefix, budget) {
		exported[r.Name] = r.Tool
		if r.Why != "" {
			reports = append(reports, r.String())
		}
	}
	slices.Sort(reports)
	return exported, reports
}

// originalName undoes escapeName.
func originalName(name string) string {
	return escaped.ReplaceAllStringFunc(name, func(s string) string {
		c, err := hex.DecodeString(s[2:])
		if err != nil {
			return s
		}
		return string(c)
	})
}
