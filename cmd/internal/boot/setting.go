package boot

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// prefix of all variables.
const prefix = "TIDINGS_"

// setting is one field of Config with its tags.
type setting struct {
	name, flag, help, group string
	fallback, dev           string // what is in force when nothing is set; dev: in development
	hasDev                  bool
	secret                  bool
	apiOnly                 bool
	form                    form
	allow                   allowance
	value                   reflect.Value
}

func (c *Config) settings() []setting {
	v := reflect.ValueOf(c).Elem()
	var list []setting
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		tag := v.Type().Field(i).Tag
		s := setting{
			name: prefix + tag.Get("env"), flag: tag.Get("flag"), help: tag.Get("help"), group: tag.Get("group"),
			fallback: tag.Get("envDefault"), secret: tag.Get("secret") != "", apiOnly: tag.Get("for") == "api",
			form: forms[tag.Get("form")], allow: allowance(tag.Get("allow")), value: v.Field(i),
		}
		s.dev, s.hasDev = tag.Lookup("dev")
		if s.value.Kind() == reflect.Bool && s.fallback == "" {
			s.fallback = "false"
		}
		if s.form == (form{}) {
			s.form = formOf(s.value)
		}
		list = append(list, s)
	}
	return list
}

// form is what a value looks like.
type form struct {
	short string // in the help, after the flag
	said  string // in a refusal: it takes …
	long  string // in the documentation
}

// forms by the tag of that name.
var forms = map[string]form{
	"text":    {"TEXT", "text", "text"},
	"switch":  {"", "true or false", "true or false"},
	"number":  {"NUMBER", "a number", "number"},
	"time":    {"TIME", "a duration such as 500ms, 90s or 1h30m", "duration: 500ms, 90s, 1h30m"},
	"bytes":   {"BYTES", "a number of bytes such as 4096, 64KiB or 1GiB", "bytes: 4096, 64KiB, 32MiB, 1GiB"},
	"mib":     {"MIB", "a number of MiB", "MiB"},
	"file":    {"FILE", "the path of a file", "file"},
	"dir":     {"DIR", "the path of a directory", "directory"},
	"address": {"ADDRESS", "host:port", "host:port; without a host all addresses of the machine"},
	"url":     {"URL", "a URL", "URL"},
	"list":    {"LIST", "a list", "list, comma separated"},
	"name":    {"NAME", "a name", "name"},
	"word":    {"WORD", "a word", "word"},
	"part":    {"PART", "a number from 0 to 1", "number from 0 to 1"},
	"rate":    {"RATE", "number/number", "number/number"},
	"pem":     {"", "PEM", "PEM"},
	"json":    {"", "JSON", "JSON"},
}

func formOf(v reflect.Value) form {
	switch v.Interface().(type) {
	case bool:
		return forms["switch"]
	case int, int64:
		return forms["number"]
	case time.Duration:
		return forms["time"]
	}
	return forms["text"]
}

// set takes a text that somebody has given. An error says what would be good.
func (s setting) set(text string) error {
	if s.value.Kind() == reflect.String {
		s.value.SetString(text)
		return s.allowed()
	}
	if text == "" { // as a template leaves it that was filled with nothing
		text = s.fallback
	}
	if s.value.Kind() == reflect.Bool {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return s.refusal()
		}
		s.value.SetBool(on)
		return nil
	}
	n, err := parseNumber(s.value, text)
	if err != nil {
		return s.refusal()
	}
	s.value.SetInt(n)
	return s.allowed()
}

// parseNumber reads a number, a number of bytes with a unit, or a duration, as v
// holds it.
func parseNumber(v reflect.Value, text string) (int64, error) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		return int64(d), err
	}
	for unit, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			if err == nil && (n > math.MaxInt64/factor || n < 0) {
				err = strconv.ErrRange
			}
			return n * factor, err
		}
	}
	return strconv.ParseInt(text, 10, 64)
}

// allowed returns nil when the value is one of those that are good. What is in
// force when nothing is set is.
func (s setting) allowed() error {
	if s.text() != s.fallback && !s.allow.has(s.value) {
		return s.refusal()
	}
	return nil
}

func (s setting) refusal() error { return fmt.Errorf("it takes %s", s.takes()) }

// takes says in words which values are good.
func (s setting) takes() string {
	switch words := s.allow.String(); {
	case words == "":
		return s.form.said
	case s.form == forms["word"]:
		return words
	default:
		return s.form.said + ", " + words
	}
}

// text is the value as it is written.
func (s setting) text() string { return fmt.Sprint(s.value.Interface()) }
