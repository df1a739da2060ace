package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	home := t.TempDir()
	tests := []struct {
		name          string
		env           map[string]string
		plugins       []string
		config, state string
		want          places
		wantErr       string
	}{
		{
			name: "defaults",
			want: places{
				plugins: []string{home + "/.local/share/toolhost/plugins"}, config: home + "/.config/toolhost/toolhost.yaml",
				state: home + "/.local/state/toolhost",
			},
		},
		{
			name: "XDG",
			env:  map[string]string{"XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"},
			want: places{plugins: []string{"/d/toolhost/plugins"}, config: "/c/toolhost/toolhost.yaml", state: "/s/toolhost"},
		},
		{
			name: "T51 relative XDG is ignored",
			env:  map[string]string{"XDG_DATA_HOME": ".", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "s"},
			want: places{
				plugins: []string{home + "/.local/share/toolhost/plugins"}, config: home + "/.config/toolhost/toolhost.yaml",
				state: home + "/.local/state/toolhost",
			},
		},
		{
			name: "environment",
			env:  map[string]string{"TOOLHOST_PLUGINS": "/a:/b", "TOOLHOST_STATE": "/st"},
			want: places{plugins: []string{"/a", "/b"}, config: home + "/.config/toolhost/toolhost.yaml", state: "/st"},
		},
		{
			name: "T51 an empty part is not the working directory",
			env:  map[string]string{"TOOLHOST_PLUGINS": ":/a::"},
			want: places{plugins: []string{"/a"}, config: home + "/.config/toolhost/toolhost.yaml", state: home + "/.local/state/toolhost"},
		},
		{name: "T51 relative plugin directory", env: map[string]string{"TOOLHOST_PLUGINS": "plugins"}, wantErr: "must be absolute"},
		{name: "T51 relative state", env: map[string]string{"TOOLHOST_STATE": "st"}, wantErr: "must be an absolute path"},
		{
			name: "flags win and may be relative",
			env:  map[string]string{"TOOLHOST_PLUGINS": "relative", "TOOLHOST_STATE": "relative"}, plugins: []string{"bin/plugins"}, config: "t.yaml", state: "st",
			want: places{plugins: []string{"bin/plugins"}, config: "t.yaml", state: "st", configNamed: true, dirsNamed: true},
		},
		{name: "no home", env: map[string]string{"HOME": ""}, wantErr: "no state directory"},
		{
			name: "T51 relative home", env: map[string]string{"HOME": "."}, state: "/st",
			want: places{state: "/st"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TOOLHOST_PLUGINS", "TOOLHOST_STATE"} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", home)
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			got, err := findPlaces(tt.plugins, tt.config, tt.state)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) || exitCode(err) != exitUsage {
					t.Fatalf("error %v, want a usage error with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(places{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
