package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidings/cmd/internal/boot"
)

// asked reports whether a subcommand's arguments ask what it is for.
func asked(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" })
}

// soapUsage says what the subcommands of `api soap` are for that take no settings.
var soapUsage = map[string]string{
	"secret": `Usage:
  $0 soap secret NAME
      Make a secret for an account of SOAP callers, and print it, its sum, and the account NAME to paste into
      the accounts file: docs/auth.md, Accounts for SOAP. It takes no settings.
`,
	"password": `Usage:
  $0 soap password
      Print the argon2id hash of the password on the standard input, for an account of SOAP callers:
      printf %s "$PASSWORD" | $0 soap password. It takes no settings.
`,
	"certificate": `Usage:
  $0 soap certificate FILE
      Print fingerprint, issuer, subject and times of the first certificate (PEM) in FILE, as accounts name it.
      It takes no settings.
`,
	"accounts": `Usage:
  $0 soap accounts FILE [CA]
      Check an accounts file, with the authorities of its certificates in CA (PEM), as a start does, and list
      what it has. It takes no settings.
`,
}

const printUsage = `Usage:
  $0 schema print [--schema DIR] [settings]
      Print the expanded contract of a schema as SDL.

  --schema DIR  directory of the *.graphql files (TIDINGS_SCHEMA)
      The other settings are those of the service: api --help.
`

const versionUsage = `Usage:
  $0 version
      Print which build this is. It takes no settings.
`

// versionCommand is `api version`.
func versionCommand(_ context.Context, c Call) error {
	switch {
	case asked(c.Args):
		return c.usage(versionUsage)
	case len(c.Args) > 0:
		return boot.Usage(fmt.Errorf("unknown argument %q; see %s version --help", c.Args[0], c.Program))
	}
	_, err := boot.ReadConfig(c.Program, []string{"--version"}, nil, printer(c.Stdout))
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	return err
}
