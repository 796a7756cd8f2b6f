package tool

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"tidings/auth"
	"tidings/cmd/internal/boot"
)

// soapHelp says what the subcommands of `api soap` are for that take no settings.
var soapHelp = map[string]boot.Help{
	"secret": {
		Text: `
Make a secret for an account of SOAP callers, and print it, its sum, and the account
to paste into the accounts file: docs/auth.md, Accounts for SOAP. The partner gets
the secret, the file may have the sum.`,
		Usage:    "$0 soap secret NAME",
		Examples: "$0 soap secret erp",
	},
	"password": {
		Text:     "Print the argon2id hash of the password on the standard input, for an account of SOAP\ncallers.",
		Usage:    "$0 soap password",
		Examples: `printf %s "$PASSWORD" | $0 soap password`,
	},
	"certificate": {
		Text:     "Print fingerprint, issuer, subject and times of the first certificate (PEM) in a file,\nas accounts name it.",
		Usage:    "$0 soap certificate FILE",
		Examples: "$0 soap certificate partner.pem",
	},
	"accounts": {
		Text: `
Check an accounts file, with the authorities of its certificates in CA (PEM), as a
start does, and list what it has.`,
		Usage:    "$0 soap accounts FILE [CA]",
		Examples: "$0 soap accounts accounts.json",
	},
}

// soapCommand is `api soap`: what goes into the accounts of SOAP callers, and the
// versions of what they see.
func soapCommand(_ context.Context, call Call) error {
	const usage = `want one of
  $0 soap lock               write down what partners see as a version: $0 soap lock --help
  $0 soap check              say which promises of the versions the schema does not hold
  $0 soap secret NAME        make a secret, and print it, its sum, and an account to paste
  $0 soap password           print the argon2id hash of a password: printf %s "$PASSWORD" | $0 soap password
  $0 soap certificate FILE   print fingerprint, issuer and subject of a certificate (PEM)
  $0 soap accounts FILE [CA] check an accounts file, with the authorities of its certificates (PEM), and list what it has
docs/soap.md, Versions, and docs/auth.md, Accounts for SOAP, say what they are for`
	args, stdout := call.Args, call.Stdout
	switch {
	case len(args) > 0 && args[0] == "lock":
		return lockCommand(call.after(1))
	case len(args) > 0 && args[0] == "check":
		return lockCheckCommand(call.after(1))
	case len(args) == 1 && strings.HasPrefix(args[0], "-"):
		return call.help(lockHelp, lockCheckHelp, soapHelp["secret"], soapHelp["password"], soapHelp["certificate"], soapHelp["accounts"])
	case len(args) > 1 && soapHelp[args[0]].Usage != "" && asked(args[1:]):
		return call.help(soapHelp[args[0]])
	case len(args) == 2 && args[0] == "secret" && strings.HasPrefix(args[1], "-"):
		return boot.Usage(fmt.Errorf("%q is no name of an account; see %s soap secret --help", args[1], call.Program))
	case len(args) == 2 && args[0] == "secret":
		return soapSecret(args[1], stdout)
	case len(args) == 1 && args[0] == "password":
		return soapPassword(call)
	case len(args) == 2 && args[0] == "certificate":
		return soapCertificate(args[1], stdout)
	case (len(args) == 2 || len(args) == 3) && args[0] == "accounts":
		return soapAccounts(args[1], args[2:], time.Now(), stdout)
	}
	return boot.Usage(errors.New(call.named(usage)))
}

// soapSecret makes a secret and prints it, its sum, and the account.
func soapSecret(name string, stdout io.Writer) error {
	secret := auth.NewSecret()
	account, err := json.Marshal(map[string]any{"name": name, "roles": []string{"SERVICE"}, "secrets": []string{secret}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "secret   %s\nsum      %s\naccount  %s\n", secret, auth.SumSecret(secret), account)
	return err
}

// soapPassword prints the hash of the password that comes in.
func soapPassword(call Call) error {
	password, err := bufio.NewReader(io.LimitReader(call.Stdin, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	password = strings.TrimRight(password, "\r\n")
	if password == "" {
		return errors.New(call.named("no password came in: printf %s \"$PASSWORD\" | $0 soap password"))
	}
	hash, err := auth.HashPassword(password)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(call.Stdout, string(hash))
	return err
}

// soapCertificate prints what accounts say of the first certificate in a file.
func soapCertificate(file string, stdout io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return fmt.Errorf("%s does not begin with a PEM block CERTIFICATE", file)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	sum := sha256.Sum256(cert.Raw)
	_, err = fmt.Fprintf(stdout, "sha256   %s\nissuer   %s\nsubject  %s\nvalid    %s to %s\n", hex.EncodeToString(sum[:]),
		cert.Issuer.String(), auth.DistinguishedName(cert), cert.NotBefore.UTC().Format(time.RFC3339), cert.NotAfter.UTC().Format(time.RFC3339))
	return err
}

// soapAccounts checks an accounts file as a start does, and lists its accounts.
func soapAccounts(file string, ca []string, now time.Time, stdout io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	list, err := auth.ParseAccounts(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var authorities []*x509.Certificate
	for _, file := range ca {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if authorities, err = auth.ParseAuthorities(text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if _, err := auth.NewAccounts(list, authorities...); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSUBJECT\tROLES\tKNOWN BY")
	for _, acc := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", acc.User, cmp.Or(acc.Subject, acc.User), strings.Join(auth.RoleNames(acc.Roles), ","), knownBy(acc, now))
	}
	return w.Flush()
}

// knownBy says what an account is known by, and what of it is no longer good.
func knownBy(acc auth.Account, now time.Time) string {
	var ways []string
	if len(acc.Hash) > 0 {
		ways = append(ways, "password")
	}
	if n := len(acc.Secrets); n > 0 {
		ways = append(ways, fmt.Sprintf("secrets: %d", n))
	}
	for _, rule := range acc.Certificates {
		switch c := rule.Certificate; {
		case c == nil:
			ways = append(ways, "a certificate")
		case now.After(c.NotAfter):
			ways = append(ways, "a certificate that EXPIRED on "+c.NotAfter.UTC().Format(time.DateOnly))
		default:
			ways = append(ways, "a certificate until "+c.NotAfter.UTC().Format(time.DateOnly))
		}
	}
	return strings.Join(ways, ", ")
}
