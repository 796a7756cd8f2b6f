package boot

import (
	"fmt"
	"strings"
)

// Manual is docs/configuration.md.
func Manual() string {
	var b strings.Builder
	b.WriteString(manualIntro)
	all := new(Config).settings()
	for _, s := range all {
		if s.group != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| flag, variable | form | default | used by | what |\n|---|---|---|---|---|\n", s.group)
		}
		b.WriteString("| " + strings.Join(s.row(all), " | ") + " |\n")
	}
	return b.String()
}

// row is the setting in a table.
func (s setting) row(all []setting) []string {
	names := []string{}
	if s.flag != "" {
		names = append(names, "`--"+s.flag+"`")
	}
	names = append(names, "`"+s.name+"`")
	if s.secret && !s.hasTwin(all) {
		names = append(names, "`"+s.name+"_FILE`")
	}
	takes := s.form.long
	if words := s.allow.String(); words != "" && s.form == forms["word"] {
		takes = words
	} else if words != "" {
		takes += "; " + words
	}
	fallback := "–"
	if s.fallback != "" {
		fallback = "`" + s.fallback + "`"
	}
	if s.hasDev {
		fallback += ", in development `" + s.dev + "`"
	}
	who := "api, worker"
	if s.apiOnly {
		who = "api"
	}
	what := strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`, "|", `\|`).Replace(s.help)
	return []string{strings.Join(names, "<br>"), takes, fallback, who, what}
}

// hasTwin reports whether the file of a secret is a setting of its own.
func (s setting) hasTwin(all []setting) bool {
	for _, other := range all {
		if other.name == s.name+"_FILE" {
			return true
		}
	}
	return false
}

const manualIntro = `# Configuration

<!-- Written by go test ./cmd/internal/boot -update from the tags of boot.Config. Do not edit. -->

Each setting is a flag or a variable; the flag wins. ` + "`api --help` and `worker --help`" + ` list them for a terminal. A worker takes the settings of an api too, so that both may be told the same; those that only the api uses have no effect there.

- **Secrets** have variables alone, so that no list of processes shows them. Each may come from a file instead: ` + "`TIDINGS_JWT_SECRET_FILE=/run/secrets/jwt`" + `. White space around what is in it does not count. Both at once are refused.
- **Refused** at the start, before anything is opened: a variable ` + "`TIDINGS_…`" + ` or a flag that does not exist (with the name that was probably meant), a value that is not of the form or beyond the bounds below, settings that exclude each other or have no effect without another. What Kubernetes puts into the environment for a Service (` + "`TIDINGS_NATS_SERVICE_HOST`" + `) is passed over.
- **Set to nothing** (` + "`TIDINGS_ADMIN=`" + `) a text is empty, and anything else as if it were not set. A secret must not be.
- ` + "**`--print-config`**" + ` prints what is in force, and of each whether it comes from a flag, a variable, a file or a default. Secrets are masked, passwords in URLs too.
- ` + "**`--version`**, `api version` and `worker version`" + ` print release, revision, compiler and platform.
- **In development** (` + "`--dev`" + `) some defaults are others; what is set counts there, too.

A setting is read once, at the start. Which files are read again later: [operations.md](operations.md#reloading-the-schema).
`
