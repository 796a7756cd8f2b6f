package boot

import "strings"

// helpWidth is the number of columns that the help of a setting takes.
const helpWidth = 100

func (c *Config) usage(program string, print func(string, ...any)) {
	print("%s\n\nEach setting is a flag or a variable; the flag wins.\n", strings.TrimSpace(usageOf[program]))
	for _, s := range c.settings() {
		if s.group != "" {
			print("\n%s\n", s.group)
		}
		title := "--" + s.flag + "  " + s.name
		if s.secret {
			title = s.name + " or " + s.name + "_FILE"
		}
		if s.fallback != "" {
			title += "  (" + s.fallback + ")"
		}
		print("  %s\n%s", title, paragraph(s.help))
	}
	print("\n  --print-config\n%s", paragraph("print the configuration, secrets masked, and end"))
}

// paragraph breaks a text into indented lines.
func paragraph(text string) string {
	const indent = "        "
	var b strings.Builder
	b.WriteString(indent)
	column := len(indent)
	for i, word := range strings.Fields(text) {
		if i > 0 && column+1+len(word) > helpWidth {
			b.WriteString("\n" + indent)
			column = len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}

var usageOf = map[string]string{
	"api": `
Usage:
  api [settings]                   serve GraphQL, subscriptions and SOAP
  api schema print [--schema DIR]  print the expanded contract as SDL
  api schema check OLD NEW         say what changes for clients between two schemas;
                                   status 1 when something breaks: api schema check --help
  api schema check --against-log   say which stored records do not fit the schema
  api revoke --jti ID | --sub NAME [--before TIME] | --before TIME
                                   take tokens back, in all processes: docs/auth.md
  api erase --type NAME --id ID    delete a record and erase at once what it was: docs/operations.md
  api export [--out FILE]          write all records as of one position: api export --help
  api import FILE                  write the records of a file into the log: api import --help
  api log check                    say what is wrong with the log, and the remedy: api log --help
  api log repair                   mend the reservations of unique values
  api log renew                    give a log that was restored from a backup an identity of its own
  api token --sub NAME [--roles USER,ADMIN] [--ttl 24h] [--data DIR]
                                   print a token of the development key
  api bus setup                    create the streams and buckets on an external bus: api bus --help
  api soap lock                    write down what SOAP partners see as a version: api soap lock --help
  api soap check                   say which locked versions the schema breaks
  api soap secret NAME             make a secret for an account of SOAP callers
  api soap password                hash a password for one, read from the standard input
  api soap certificate FILE        print how an account names a certificate (PEM)
  api soap accounts FILE [CA]      check an accounts file

Signals: INT and TERM drain, then end; HUP reloads the schema, the registered operations, accounts and
certificates.`,
	"worker": `
Usage:
  worker [settings]                carry out commands and SOAP calls for the bus

Signals: INT and TERM end; HUP reloads the schema and accounts.`,
}
