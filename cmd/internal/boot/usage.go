package boot

import (
	"fmt"
	"strings"
)

// helpWidth is the number of columns of a terminal that the help is made for.
const helpWidth = 80

// flagWidth is how many of them the flag of a setting takes before its variable.
const flagWidth = 34

func (c *Config) usage(program string, print func(string, ...any)) {
	print("%s\n", strings.TrimSpace(usageOf[program]))
	print(`
Settings: each is a flag or a variable; the flag wins. Secrets have variables
alone, and may come from the file that VARIABLE_FILE names.
docs/configuration.md has them as a table.
`)
	group := ""
	for _, s := range c.settings() {
		if s.group != "" {
			group = s.group
		}
		if s.apiOnly && program == "worker" {
			continue
		}
		if group != "" {
			print("\n%s\n", group)
			group = ""
		}
		print("  %s\n%s", s.title(), Paragraph(s.help+s.defaults()))
	}
	print("\nInstead of running\n  --print-config\n%s", Paragraph("print what is in force, and from where, secrets masked, and end"))
	print("  --version\n%s", Paragraph("print which build this is, and end"))
}

// title names a setting: by its flag and its variable.
func (s setting) title() string {
	if s.flag == "" {
		return s.name
	}
	name := "--" + s.flag
	if s.form.short != "" {
		name += " " + s.form.short
	}
	return fmt.Sprintf("%-*s %s", flagWidth, name, s.name)
}

// defaults say, in brackets, what is in force when nothing is set, and which
// values are good.
func (s setting) defaults() string {
	var parts []string
	if s.fallback != "" && s.fallback != "false" {
		parts = append(parts, "default "+s.fallback)
	}
	if s.hasDev {
		parts = append(parts, "in development "+s.dev)
	}
	if words := s.allow.String(); words != "" {
		parts = append(parts, words)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

var usageOf = map[string]string{
	"api": `
Usage:
  api [settings]               serve GraphQL, subscriptions and SOAP

  api schema print             print the expanded contract as SDL
  api schema check OLD NEW     say what changes for clients between two schemas
  api schema check --against-log
                               say which stored records do not fit the schema
  api soap lock                write down what SOAP partners see as a version
  api soap check               say which locked versions the schema breaks
  api soap secret NAME         make a secret for an account of SOAP callers
  api soap password            hash a password for one, from the standard input
  api soap certificate FILE    print how an account names a certificate (PEM)
  api soap accounts FILE [CA]  check an accounts file
  api revoke                   take tokens back, in all processes
  api erase                    delete a record and erase at once what it was
  api export                   write all records as of one position
  api import FILE              write the records of a file into the log
  api log check                say what is wrong with the log, and the remedy
  api log repair               mend the reservations of unique values
  api log renew                give a log that was restored from a backup an
                               identity of its own
  api drain                    empty the process on this machine before it ends
  api bus setup                create the streams and buckets on an external bus
  api token                    print a token of the development key
  api version                  print which build this is

Each says more with --help: api export --help.

Signals: INT and TERM drain, then end, a second one ends at once; HUP reloads
the schema, the persisted operations, accounts, certificates and the
credentials of the bus.`,
	"worker": `
Usage:
  worker [settings]            carry out commands and SOAP calls for the bus
  worker drain                 empty the process on this machine before it ends
  worker version               print which build this is

Settings of api alone are taken, and have no effect.

Signals: INT and TERM finish what was taken, then end, a second one ends at
once; HUP reloads the schema, accounts and the credentials of the bus.`,
}
