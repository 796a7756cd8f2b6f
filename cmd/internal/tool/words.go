package tool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidings/cmd/internal/boot"
	"tidings/schema"
)

// words are a subcommand's own flags. What else there is are settings of the
// service, which boot.ReadConfig reads.
type words struct {
	switches map[string]*bool
	texts    map[string]*string
	lists    map[string]*[]string // may be given several times, or with commas
}

// take reads the words and returns the other arguments, those without a dash
// apart. --help is a word, too.
func (w words) take(args []string) (names, rest []string, help bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			names = append(names, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		on, text, list := w.switches[name], w.texts[name], w.lists[name]
		switch {
		case name == "help" || name == "h":
			help = true
		case on != nil && !given:
			*on = true
		case on != nil:
			return nil, nil, false, fmt.Errorf("--%s takes no value", name)
		case text == nil && list == nil && !boot.IsFlag(name) && schema.Nearest(name, w.names()) != "":
			return nil, nil, false, fmt.Errorf("unknown flag --%s; did you mean --%s?", name, schema.Nearest(name, w.names()))
		case text == nil && list == nil:
			rest = append(rest, arg)
			if !given && len(args) > 0 && !strings.HasPrefix(args[0], "-") && !boot.IsSwitch(name) {
				rest, args = append(rest, args[0]), args[1:]
			}
		case !given && len(args) == 0:
			return nil, nil, false, fmt.Errorf("--%s wants a value", name)
		default:
			if !given {
				value, args = args[0], args[1:]
			}
			if text != nil {
				*text = value
			} else {
				*list = append(*list, strings.Split(value, ",")...)
			}
		}
	}
	return names, rest, help, nil
}

// names are those of the flags, in order.
func (w words) names() []string {
	names := slices.Concat(slices.Collect(maps.Keys(w.switches)), slices.Collect(maps.Keys(w.texts)), slices.Collect(maps.Keys(w.lists)))
	slices.Sort(names)
	return names
}

// Own reads a command's own flags, those with a value and those without, and tells
// the settings of the service, with their values, from what has no dash. help:
// somebody asks what the command is for.
func Own(switches map[string]*bool, texts map[string]*string, args []string) (names, settings []string, help bool, err error) {
	return words{switches: switches, texts: texts}.take(args)
}
