package launch

import (
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/proto/wire"
)

// StandardEnv is the names of the host's variables that pass to a plugin, in the
// form of [Sandbox.Pass].
func StandardEnv() []string {
	if runtime.GOOS == "windows" {
		return append(slices.Clone(hostNames), windowsNames...)
	}
	return slices.Clone(hostNames)
}

// environ returns the environment of a plugin on the system goos, and the sorted names that were left out. Of host,
// the host's own environment, only the names in pass do: what ordinary programs need (S1, S3). What begins with PLUGIN_ or
// TOOLHOST_ never does (S4). own is the operator's list: it wins over host (S2), and loses only names that the
// handshake needs. Of equal names the last wins. Both lists hold NAME=VALUE. Windows does not tell upper from lower case in
// a name; what passes keeps the case of the one that came first.
func environ(goos string, host, pass, own []string) (env, dropped []string) {
	known := func(name string) string {
		if goos == "windows" {
			return strings.ToUpper(name)
		}
		return name
	}
	pass = slices.Clone(pass)
	for i := range pass {
		pass[i] = known(pass[i])
	}
	values := map[string]string{}
	var names []string
	put := func(kv string, allowed func(string) bool) {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "":
			return // such as Windows' "=C:=C:\dir"
		case !allowed(name):
			dropped = append(dropped, name)
			return
		}
		if _, again := values[known(name)]; !again {
			names = append(names, name)
		}
		values[known(name)] = value
	}
	for _, kv := range host {
		put(kv, func(name string) bool { return passes(known(name), pass) })
	}
	for _, kv := range own {
		put(kv, func(name string) bool { return !reserved(known(name)) })
	}
	for _, name := range names {
		env = append(env, name+"="+values[known(name)])
	}
	dropped = slices.DeleteFunc(dropped, func(name string) bool { _, kept := values[known(name)]; return kept })
	slices.Sort(dropped)
	return env, slices.Compact(dropped)
}

// passes reports whether a variable of the host may pass.
func passes(name string, pass []string) bool {
	if strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "TOOLHOST_") {
		return false
	}
	return slices.ContainsFunc(pass, func(p string) bool {
		stem, open := strings.CutSuffix(p, "*")
		return p == name || open && strings.HasPrefix(name, stem)
	})
}

// reserved reports whether go-plugin's handshake or ours gives a name its meaning.
func reserved(name string) bool { return slices.Contains(reservedNames, name) }

var hostNames = []string{
	"PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
}

// windowsNames are those without which Windows programs do not start.
var windowsNames = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
	"USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PATH",
}

var reservedNames = []string{
	wire.CookieKey, wire.EnvConn,
	"PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_CLIENT_CERT",
	"PLUGIN_MULTIPLEX_GRPC", "PLUGIN_UNIX_SOCKET_DIR", "PLUGIN_UNIX_SOCKET_GROUP",
}
