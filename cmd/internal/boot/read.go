package boot

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidings/internal/proc"
	"tidings/schema"
)

// ErrHelp says that the caller asked for help, for the version or for the
// configuration, and that it was printed.
var ErrHelp = flag.ErrHelp

// ReadConfig reads the variables, then the flags. Unknown names are refused:
// a setting that is misspelt must not be silently without effect. What a worker
// has no use for it takes nevertheless, so that all processes of a deployment may
// be told the same. An error is a UsageError.
func ReadConfig(program string, args, environ []string, print func(format string, a ...any)) (Config, error) {
	c, err := readConfig(program, args, environ, print)
	return c, Usage(err)
}

func readConfig(program string, args, environ []string, print func(format string, a ...any)) (Config, error) {
	c := Config{program: typed(program)}
	given, err := variables(environ)
	if err != nil {
		return c, err
	}
	from, err := c.take(given)
	if err != nil {
		return c, err
	}
	var refused error
	set := c.flags(from, &refused)
	version := set.Bool("version", false, "print which build this is, and end")
	printConfig := set.Bool("print-config", false, "print the configuration, secrets masked, and end")
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		c.usage(program, print)
		return c, ErrHelp
	case err != nil:
		return c, meant(err, set, program)
	case refused != nil:
		return c, refused
	case set.NArg() > 0:
		return c, unexpected(set.Arg(0), program)
	case *version:
		print("%s %s\n", program, proc.ThisBuild())
		return c, ErrHelp
	}
	if c.Dev {
		if err := c.develop(from); err != nil {
			return c, err
		}
	}
	if *printConfig {
		c.print(from, print)
	}
	if err := c.check(); err != nil || !*printConfig {
		return c, err
	}
	return c, ErrHelp
}

// typed is the command whose subcommands people type where a program runs.
func typed(program string) string {
	name, _, _ := strings.Cut(program, " ")
	if name == "worker" { // which has none that look after what is stored
		return "api"
	}
	return name
}

// given is what the environment says of a setting.
type given struct{ from, value string }

// variables picks ours from the environment, reads the files that NAME_FILE
// names, and refuses what no setting is called.
func variables(environ []string) (map[string]given, error) {
	names := map[string]string{} // of the settings by those of the variables
	secrets := map[string]bool{}
	for _, s := range new(Config).settings() {
		names[s.name] = s.name
		secrets[s.name] = s.secret
	}
	for name, secret := range secrets {
		if _, taken := names[name+"_FILE"]; secret && !taken {
			names[name+"_FILE"] = name
		}
	}
	vars := map[string]given{}
	for _, kv := range environ {
		variable, value, _ := strings.Cut(kv, "=")
		name, known := names[variable]
		switch {
		case !known && (!strings.HasPrefix(variable, prefix) || serviceLink.MatchString(variable) || slices.Contains(ofCallers, variable)):
			continue
		case !known:
			return nil, unknown(variable, slices.Sorted(maps.Keys(names)))
		case name != variable:
			content, err := os.ReadFile(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", variable, err)
			}
			value = strings.TrimSpace(string(content))
		}
		if _, twice := vars[name]; twice {
			return nil, fmt.Errorf("%s and %s_FILE are both set; remove one", name, name)
		}
		if secrets[name] && value == "" {
			return nil, fmt.Errorf("%s is set to nothing; give it a value or remove it", variable)
		}
		vars[name] = given{variable, value}
	}
	return vars, nil
}

// serviceLink matches what Kubernetes puts into the environment of every pod
// for a Service whose name begins with ours.
var serviceLink = regexp.MustCompile(`^TIDINGS_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// ofCallers are what the command line reads to call a service: they may be there
// where a service is started.
var ofCallers = []string{"TIDINGS_URL", "TIDINGS_TOKEN"}

func unknown(variable string, names []string) error {
	if near := schema.Nearest(variable, names); near != "" {
		return fmt.Errorf("unknown variable %s; did you mean %s? See --help for those that exist", variable, near)
	}
	return fmt.Errorf("unknown variable %s; see --help for those that exist", variable)
}

// take sets what the environment says, and the defaults of all else, and returns
// where each setting has its value from, by the setting's name.
func (c *Config) take(vars map[string]given) (from map[string]string, err error) {
	from = map[string]string{}
	for _, s := range c.settings() {
		g, ok := vars[s.name]
		if !ok {
			g = given{"default", s.fallback}
		}
		from[s.name] = g.from
		if !ok && s.fallback == "" {
			continue
		}
		if err := s.set(g.value); err != nil && s.secret {
			return from, fmt.Errorf("%s: %w", g.from, err)
		} else if err != nil {
			return from, fmt.Errorf("%s is %.60q; %w", g.from, g.value, err)
		}
	}
	return from, nil
}

// develop sets what is otherwise in development and was not given.
func (c *Config) develop(from map[string]string) error {
	for _, s := range c.settings() {
		if !s.hasDev || from[s.name] != "default" {
			continue
		}
		from[s.name] = "default in development"
		if err := s.set(s.dev); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// flags are those of all settings that are no secrets. They note in from what
// they set, and in refused the first of them whose value is not good.
func (c *Config) flags(from map[string]string, refused *error) *flag.FlagSet {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(discard{})
	set.Usage = func() {}
	for _, s := range c.settings() {
		if s.flag != "" {
			set.Var(&flagValue{s, from, refused}, s.flag, s.help)
		}
	}
	return set
}

// flagValue is a setting as package flag wants it.
type flagValue struct {
	setting
	from    map[string]string
	refused *error
}

// Set implements flag.Value. It never fails: package flag would say it its own way.
func (v *flagValue) Set(text string) error {
	v.from[v.name] = "--" + v.flag
	err := v.set(text)
	if text == "" && v.value.Kind() != reflect.String {
		err = v.refusal()
	}
	if err != nil && *v.refused == nil {
		*v.refused = fmt.Errorf("--%s (%s) is %.60q; %w", v.flag, v.name, text, err)
	}
	return nil
}

// String implements flag.Value.
func (v *flagValue) String() string {
	if !v.value.IsValid() {
		return ""
	}
	return v.text()
}

// IsBoolFlag says that the flag may stand without a value.
func (v *flagValue) IsBoolFlag() bool { return v.value.Kind() == reflect.Bool }

// meant is the refusal of a flag that is unknown or lacks its value, of a command.
func meant(err error, set *flag.FlagSet, command string) error {
	if name, wants := strings.CutPrefix(err.Error(), "flag needs an argument: -"); wants {
		return fmt.Errorf("--%s wants a value; see %s --help", name, command)
	}
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if value, name, is := strings.Cut(strings.TrimSuffix(err.Error(), ": parse error"), " for flag -"); is && isDuration(set.Lookup(name)) {
		return fmt.Errorf("--%s: %s is no duration; write it as 90s, 30m or 24h", name, strings.TrimPrefix(value, "invalid value "))
	}
	if !unknown {
		return fmt.Errorf("%w; see %s --help", err, command)
	}
	var names []string
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag --%s; did you mean --%s? See %s --help", name, near, command)
	}
	return fmt.Errorf("unknown flag --%s; see %s --help", name, command)
}

// isDuration says whether a flag takes a time.Duration.
func isDuration(f *flag.Flag) bool {
	if f == nil {
		return false
	}
	getter, is := f.Value.(flag.Getter)
	if is {
		_, is = getter.Get().(time.Duration)
	}
	return is
}

// unexpected is the error of an argument where only settings are taken.
func unexpected(arg, program string) error {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		return fmt.Errorf("unknown argument %q; a directory of *.graphql files is named by --schema %[1]s. See %[2]s --help", arg, program)
	}
	return fmt.Errorf("unknown argument %q; see %s --help", arg, program)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
