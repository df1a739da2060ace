package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// app is one run of the command: its streams and its global flags.
type app struct {
	stdin io.Reader
	out   *terminal // results only
	err   *terminal // for people

	plugins  []string
	config   string
	lock     string
	state    string
	logLevel string
	json     bool

	command string       // that runs
	file    *config.File // the configuration, once hostConfig has read it
}

const rootLong = `toolhost runs plugins and calls their tools.

A plugin is a program named toolplugin-NAME in a plugin directory, or one that
the configuration names. Plugins are searched in the --plugins directories,
else in $TOOLHOST_PLUGINS (a list of absolute paths), else in
$XDG_DATA_HOME/toolhost/plugins. Nothing below the working directory is used
unless a flag names it, or toolhost trust was told to trust what it holds now.`

const rootExample = `  toolhost --plugins bin/plugins list
  toolhost --plugins bin/plugins call weather '{"location":"Berlin"}'
  toolhost new greeter`

// root builds the command tree. Building it does no other work.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "toolhost",
		Short:         "Run plugins and call their tools",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // checked in RunE, whose error says more than cobra's
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.command = cmd.Name()
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		_, _ = io.WriteString(a.err, cmd.UsageString()+"\n")
		return usagef("no command")
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.SetOut(a.out)
	cmd.SetErr(a.err)
	cmd.SetIn(a.stdin)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	f := cmd.PersistentFlags()
	f.SortFlags, cmd.Flags().SortFlags = false, false
	f.StringArrayVar(&a.plugins, "plugins", nil, "search `DIR` for plugins (repeatable)")
	f.StringVar(&a.config, "config", "", "read the configuration `FILE`; default $XDG_CONFIG_HOME/toolhost/toolhost.yaml")
	f.StringVar(&a.lock, "lock", "", "start only the programs that the lock `FILE` names; default toolhost.lock beside the configuration, if it is there")
	f.StringVar(&a.state, "state", "", "keep state in `DIR`; default $TOOLHOST_STATE or $XDG_STATE_HOME/toolhost")
	f.StringVar(&a.logLevel, "log-level", "", "log to stderr from `LEVEL`: debug, info, warn, error or off; default error, with --json off")
	f.BoolVar(&a.json, "json", false, "results, and errors on stderr, as JSON")
	f.Bool("unsafe-terminal", false, // read by run, before there is a command
		"write control characters to a terminal as they are")
	cmd.AddCommand(a.listCommand(), a.describeCommand(), a.callCommand(), a.resumeCommand(), a.pendingCommand(),
		a.mcpCommand(), a.importCommand(), a.newCommand(), a.statusCommand(), a.policyCommand(), a.lintCommand(), a.trustCommand(), a.lockCommand(), a.doctorCommand(), a.versionCommand())
	return cmd
}

func unknownCommand(cmd *cobra.Command, name string) error {
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usagef("unknown command %q; see toolhost --help", name)
}

// wants makes cobra's argument check a usage error.
func wants(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%s: %w; usage: %s", cmd.Name(), err, cmd.UseLine())
		}
		return nil
	}
}

// places returns where things are. Of a working directory that is not trusted it says so, if the command is one whose result
// would be another.
func (a *app) places() (places, error) {
	p, err := findPlaces(a.plugins, a.config, a.state)
	if err != nil {
		return p, err
	}
	p.useWorkDir()
	p.findLock(a.lock)
	if p.notice != "" && slices.Contains(noticed, a.command) {
		a.warn("%s", p.notice)
	}
	return p, nil
}

// noticed are the commands that say that the working directory is not used.
var noticed = []string{"list", "call", "describe", "status", "doctor", "mcp"}

// hostConfig reads the configuration file, if there is one, and adds what the command line says.
func (a *app) hostConfig(p places) (host.Config, error) {
	file, err := p.load()
	if err != nil {
		return host.Config{}, err
	}
	logger, err := a.logger()
	if err != nil {
		return host.Config{}, err
	}
	a.file = file
	cfg := file.Config()
	cfg.StateDir, cfg.Logger, cfg.SandboxHelper = p.state, logger, sandboxHelper()
	if a.command != "lock" { // which writes another
		if cfg.Lock, err = p.readLock(); err != nil {
			return host.Config{}, err
		}
	}
	for _, dir := range p.plugins {
		if p.dirsNamed || exists(dir) {
			cfg.Dirs = append(cfg.Dirs, dir)
		}
	}
	if p.work != nil {
		for _, plugin := range p.work.Plugins {
			if !slices.ContainsFunc(cfg.Plugins, func(other host.Plugin) bool { return other.Name == plugin.Name }) {
				cfg.Plugins = append(slices.Clone(cfg.Plugins), plugin) // by its hash: what is there later was not trusted
			}
		}
	}
	return cfg, nil
}

// open starts the host. The caller must close it.
func (a *app) open(ctx context.Context) (*host.Host, host.Config, error) {
	cfg, err := a.configured()
	if err != nil {
		return nil, host.Config{}, err
	}
	h, err := host.Open(ctx, cfg)
	return h, cfg, err
}

// configured returns what hostConfig does, if every plugin directory that a flag names is there.
func (a *app) configured() (host.Config, error) {
	p, err := a.places()
	if err != nil {
		return host.Config{}, err
	}
	for _, dir := range p.plugins {
		if info, err := os.Stat(dir); p.dirsNamed && (err != nil || !info.IsDir()) {
			return host.Config{}, usagef("plugin directory %s: %s", dir, whyNoDir(err))
		}
	}
	return a.hostConfig(p)
}

func whyNoDir(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return "not a directory"
}

// closeHost closes h and reports what went wrong, which never changes a command's outcome.
func (a *app) closeHost(h *host.Host) {
	if err := h.Close(); err != nil {
		a.warn("%v", err)
	}
}

// warn writes one line to stderr.
func (a *app) warn(format string, args ...any) {
	report(a.err, usagef(format, args...), false)
}

// logger returns the host's log on stderr.
func (a *app) logger() (*slog.Logger, error) {
	if a.logLevel == "off" || a.logLevel == "" && a.json {
		return slog.New(slog.DiscardHandler), nil
	}
	level := slog.LevelError // what else went wrong is said by the commands themselves
	if a.logLevel == "" {
		return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level})), nil
	}
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return nil, usagef("--log-level %q: want debug, info, warn, error or off", a.logLevel)
	}
	if a.json {
		return slog.New(slog.NewJSONHandler(jsonLines{a.err}, &slog.HandlerOptions{Level: level})), nil
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level})), nil
}

// jsonLines writes what a JSON log handler writes.
type jsonLines struct{ out *terminal }

func (w jsonLines) Write(text []byte) (int, error) {
	if err := w.out.JSON(text); err != nil {
		return 0, err
	}
	return len(text), nil
}
