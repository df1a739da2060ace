package config

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host"
)

// sandboxJSON is the block sandbox of a plugin, where it is not a word.
type sandboxJSON struct {
	Profile         host.Profile `json:"profile"`
	BestEffort      bool         `json:"bestEffort"`
	Env             []string     `json:"env"`
	Dir             string       `json:"dir"`
	PrivateTemp     *bool        `json:"privateTemp"`
	Memory          any          `json:"memory"`
	CPU             any          `json:"cpu"`
	Tasks           int          `json:"tasks"`
	OpenFiles       int          `json:"openFiles"`
	FileSize        any          `json:"fileSize"`
	Umask           *string      `json:"umask"`
	NoNewPrivileges *bool        `json:"noNewPrivileges"`
	PID             *bool        `json:"pid"`
	Mount           *bool        `json:"mount"`
	IPC             *bool        `json:"ipc"`
	Network         host.Network `json:"network"`
	Read            []string     `json:"read"`
	Write           []string     `json:"write"`
	Syscalls        *bool        `json:"syscalls"`
}

// sandbox decodes a profile's word or a block.
func (d *decoder) sandbox(at string, raw json.RawMessage) host.Sandbox {
	if len(raw) == 0 {
		return host.Sandbox{}
	}
	var in sandboxJSON
	to := any(&in)
	if bytes.HasPrefix(raw, []byte(`"`)) {
		to = &in.Profile
	}
	if err := json.Unmarshal(raw, to); err != nil {
		d.fault(at, err.Error())
		return host.Sandbox{}
	}
	out := host.Sandbox{
		Profile: in.Profile, BestEffort: in.BestEffort, Env: in.Env, PrivateTemp: in.PrivateTemp, Tasks: in.Tasks, OpenFiles: in.OpenFiles,
		NoNewPrivileges: in.NoNewPrivileges, PID: in.PID, Mount: in.Mount, IPC: in.IPC, Network: in.Network, Syscalls: in.Syscalls,
	}
	number := func(key string, given any, read func(any) (int64, error)) (n int64) {
		if given != nil {
			var err error
			if n, err = read(given); err != nil {
				d.fault(at+"/"+key, err.Error())
			}
		}
		return n
	}
	amount := func(given any) (int64, error) { return size(given, math.MaxInt64) }
	out.Memory, out.FileSize = number("memory", in.Memory, amount), number("fileSize", in.FileSize, amount)
	out.CPU = time.Duration(number("cpu", in.CPU, duration))
	if in.Umask != nil {
		n, _ := strconv.ParseInt(*in.Umask, 8, 32) // the schema says that it is one
		mask := int(n)
		out.Umask = &mask
	}
	if in.Dir != "" {
		out.Dir = d.absolute(at+"/dir", in.Dir)
	}
	for i, p := range in.Read {
		out.Read = append(out.Read, d.absolute(at+"/read/"+strconv.Itoa(i), p))
	}
	for i, p := range in.Write {
		out.Write = append(out.Write, d.absolute(at+"/write/"+strconv.Itoa(i), p))
	}
	return out
}

// absolute is path, and absolute also where the file's own path is not.
func (d *decoder) absolute(at, p string) string {
	out, err := d.path(p)
	if err == nil {
		out, err = filepath.Abs(out)
	}
	switch {
	case err != nil:
		d.fault(at, err.Error())
	case filepath.Dir(out) == out:
		d.fault(at, "the root; name what the plugin needs of it")
	}
	return out
}
