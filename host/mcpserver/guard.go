package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// guard answers requests that a foreign page or name brought here, and preflights of pages that may call. It reports whether the request
// goes on.
func (s *Server) guard(w http.ResponseWriter, r *http.Request) bool {
	if !s.hostAllowed(r) {
		name, _ := splitHost(r.Host)
		refuse(w, http.StatusForbidden, "the host "+strconv.Quote(r.Host)+" is not one of this server: to allow it, start with --allowed-host "+name+" (Config.AllowedHosts)")
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 || !s.originAllowed(origins[0], r.Host) {
		refuse(w, http.StatusForbidden, "the origin "+strconv.Quote(origins[0])+" may not call this server: to allow it, start with --allowed-origin and its name (Config.AllowedOrigins)")
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origins[0])
	h.Set("Access-Control-Expose-Headers", sessionHeader+", WWW-Authenticate")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, "+sessionHeader+", "+versionHeader)
	w.WriteHeader(http.StatusNoContent)
	return false
}

// hostAllowed reports whether the Host header is a name or address of this server (R41). An address cannot be a name that was
// rebound; of names only localhost on loopback and what is configured are known.
func (s *Server) hostAllowed(r *http.Request) bool {
	name, port := splitHost(r.Host)
	for _, a := range s.cfg.AllowedHosts {
		if a == "*" || strings.EqualFold(a, r.Host) || strings.EqualFold(strings.Trim(a, "[]"), name) || strings.EqualFold(a, net.JoinHostPort(name, port)) {
			return true
		}
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return isLoopback(name)
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return isLoopback(name)
	}
	if at.Addr().Unmap().IsLoopback() {
		return isLoopback(name)
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap() == at.Addr().Unmap()
}

func splitHost(hostport string) (name, port string) {
	name, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.Trim(hostport, "[]"), ""
	}
	return name, port
}

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// originAllowed reports whether a page of an origin may call: one of this server itself, or one that is configured (R42).
func (s *Server) originAllowed(origin, hostport string) bool {
	if slices.ContainsFunc(s.cfg.AllowedOrigins, func(a string) bool { return strings.EqualFold(strings.TrimSuffix(a, "/"), origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, hostport) &&
		strings.EqualFold(origin, u.Scheme+"://"+u.Host) // nothing beside: no user, no path
}

// authenticate says who calls, or answers with 401. Nothing of a token or of the reason is sent or kept (T37).
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (host.Caller, bool) {
	if s.cfg.Verify == nil {
		return host.Caller{Channel: channelHTTP}, true
	}
	token, ok := bearer(r.Header)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer realm="toolhost"`)
		refuse(w, http.StatusUnauthorized, "a bearer token is needed: send Authorization: Bearer TOKEN")
		return host.Caller{}, false
	}
	caller, err := s.cfg.Verify(r.Context(), token)
	if err != nil {
		s.log.Warn("a bearer token is not accepted", "remote", r.RemoteAddr, "error", strings.ReplaceAll(err.Error(), token, "[token]"))
		w.Header().Set("WWW-Authenticate", `Bearer realm="toolhost", error="invalid_token"`)
		refuse(w, http.StatusUnauthorized, "the bearer token is not accepted")
		return host.Caller{}, false
	}
	caller.Channel, caller.Session = channelHTTP, ""
	r.Header.Del("Authorization") // nothing further on has to do with it
	return caller, true
}

// bearer is the token of a request.
func bearer(h http.Header) (string, bool) {
	all := h.Values("Authorization")
	if len(all) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(all[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// headerFault says which argument differs from the header that the tool's schema wants it repeated in.
func (s *Server) headerFault(h http.Header, caller host.Caller, c callParams) *rpcError {
	tool, ok := s.known(caller).find(c.name)
	if !ok || !strings.Contains(string(tool.InputSchema), "x-mcp-header") {
		return nil
	}
	if what := mirror(h, tool.InputSchema, c.Get("arguments")); what != "" {
		return &rpcError{code: codeHeaderMismatch, message: "header mismatch: " + what}
	}
	return nil
}

// mirror compares the headers with the arguments that properties of the schema, at any depth, name them for. It returns what
// differs.
func mirror(h http.Header, schema, args json.RawMessage) string {
	s, _ := rawjson.ParseObject(schema)
	props, _ := rawjson.ParseObject(s.Get("properties"))
	given, _ := rawjson.ParseObject(args)
	for _, p := range props {
		prop, _ := rawjson.ParseObject(p.Value)
		arg := given.Get(p.Name)
		var header string
		if json.Unmarshal(prop.Get("x-mcp-header"), &header) == nil && header != "" {
			if what := mirrorOne(h.Values("Mcp-Param-"+header), "Mcp-Param-"+header, p.Name, arg); what != "" {
				return what
			}
		}
		if what := mirror(h, p.Value, arg); what != "" {
			return what
		}
	}
	return ""
}

func mirrorOne(values []string, header, property string, arg json.RawMessage) string {
	absent := len(arg) == 0 || string(arg) == "null"
	switch {
	case absent && len(values) == 0:
		return ""
	case absent:
		return header + " is there and the argument " + property + " is not"
	case len(values) != 1:
		return header + " is missing, or there more than once, for the argument " + property
	}
	value := values[0]
	if coded, ok := strings.CutPrefix(value, "=?base64?"); ok && strings.HasSuffix(coded, "?=") {
		data, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?="))
		if err != nil {
			return header + " is no Base64"
		}
		value = string(data)
	}
	want := string(arg)
	if arg[0] == '"' {
		if json.Unmarshal(arg, &want) != nil {
			return header + " differs from the argument " + property
		}
	}
	if value == want {
		return ""
	}
	if a, errA := strconv.ParseFloat(value, 64); errA == nil {
		if b, errB := strconv.ParseFloat(string(arg), 64); errB == nil && a == b {
			return ""
		}
	}
	return header + " differs from the argument " + property
}
