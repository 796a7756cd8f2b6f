package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidings/client"
	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
	"tidings/schema"
)

// partner are the flags of those who look at SOAP, or call it.
type partner struct {
	remote
	version string
	soap    string
}

func (p *partner) flags(c *cobra.Command) {
	p.remote.flags(c.Flags())
	c.Flags().StringVar(&p.version, "version", "", "version of the contract, such as v2; none: the newest that is not still being made")
	c.Flags().StringVar(&p.soap, "soap", "1.1", "version of SOAP: 1.1 or 1.2")
	_ = c.RegisterFlagCompletionFunc("soap", cobra.FixedCompletions([]string{"1.1", "1.2"}, cobra.ShellCompDirectiveNoFileComp))
}

// find returns the service, where SOAP is called there, and the WSDL.
func (p *partner) find(c *cobra.Command, environ []string) (s *client.Service, endpoint, wsdl string, err error) {
	if p.soap != "1.1" && p.soap != "1.2" {
		return nil, "", "", boot.Usage(fmt.Errorf("--soap is 1.1 or 1.2, not %q", p.soap))
	}
	if s, err = p.remote.service(environ); err != nil {
		return nil, "", "", err
	}
	if endpoint, err = s.Endpoint(c.Context(), p.version); err == nil {
		wsdl, err = s.WSDL(c.Context(), endpoint, p.soap == "1.2")
	}
	if err != nil {
		err = tool.Exit(statusUsage, away(err))
	}
	return s, endpoint, wsdl, err
}

func (p program) wsdlCommand() *cobra.Command {
	var from partner
	c := &cobra.Command{
		Use:     "wsdl",
		Short:   "Print the WSDL of a service that runs",
		Example: "  tidings soap wsdl --url https://api.example.com > service.wsdl",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, _, wsdl, err := from.find(c, p.environ)
			if err != nil {
				return err
			}
			if tool.IsTerminal(p.stdout) {
				wsdl = printable(wsdl)
			}
			_, err = fmt.Fprint(p.stdout, wsdl)
			return err
		},
	}
	from.flags(c)
	return c
}

// calling are the flags of `tidings soap call`.
type calling struct {
	partner
	user, password, passwordFile string
	digest, xml, show            bool
}

func (o *calling) flags(set *pflag.FlagSet) {
	set.StringVar(&o.user, "username", "", "account that calls")
	set.StringVar(&o.password, "password", "", "its password or secret, which other users of the machine can see in the list of processes")
	set.StringVar(&o.passwordFile, "password-file", "", "file of the password or secret")
	set.BoolVar(&o.digest, "digest", false, "send a digest instead of the secret")
	set.BoolVar(&o.xml, "xml", false, "print the envelope that came back, instead of JSON")
	set.BoolVar(&o.show, "print", false, "print the envelope that would be sent, and send nothing")
}

func (p program) callCommand() *cobra.Command {
	var o calling
	c := &cobra.Command{
		Use:   "call OPERATION [JSON | name=value...]",
		Short: "Call an operation of SOAP, and print the answer",
		Long: `Call an operation as a partner does: the envelope is made by the WSDL of the service,
and what comes back is printed as JSON. The input is a JSON object, @FILE with one, - for
the standard input, or name=value for each: JSON where it is, text otherwise; a.b=value
is inside of a. What is none of the operation's own elements goes into the element input. Without
an OPERATION it lists those that there are.

Status: 0 it has answered; 1 with a fault; 2 nobody was asked, or nobody is there.`,
		Example: `  tidings soap call
  tidings soap call GetNote id=n1
  tidings soap call CreateNote text=Hello --username partner --password-file secret
  tidings soap call CreateNotes '{"inputs": [{"text": "a"}, {"text": "b"}]}' --soap 1.2 --xml`,
	}
	o.partner.flags(c)
	o.flags(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error { return p.soapCall(c, o, args) }
	return c
}

func (p program) soapCall(c *cobra.Command, o calling, args []string) error {
	s, endpoint, wsdl, err := o.find(c, p.environ)
	if err != nil {
		return err
	}
	contract, err := client.ParseContract(wsdl)
	if err != nil {
		return tool.Exit(statusUsage, err)
	}
	if len(args) == 0 {
		_, err := fmt.Fprintln(p.stdout, printable(strings.Join(contract.Operations(), "\n")))
		return err
	}
	e := client.Envelope{Endpoint: endpoint, Contract: contract, Operation: args[0], User: o.user, Digest: o.digest, Twelve: o.soap == "1.2"}
	if e.Password, err = o.secret(); err != nil {
		return boot.Usage(err)
	}
	if e.Input, err = inputOf(c, args[1:]); err != nil {
		return boot.Usage(err)
	}
	envelope, err := text(&e)
	if err != nil {
		return boot.Usage(fmt.Errorf("%w\ntidings soap call lists the operations, tidings soap wsdl what they take", err))
	}
	if o.show {
		if tool.IsTerminal(p.stdout) {
			envelope = printable(envelope)
		}
		_, err := fmt.Fprintln(p.stdout, envelope)
		return err
	}
	answer, raw, err := s.Call(c.Context(), e)
	fault, failed := errors.AsType[*client.Fault](err)
	if err != nil && !failed {
		return tool.Exit(statusUsage, err)
	}
	if err := p.printAnswer(o.xml, answer, raw, fault); err != nil || !failed {
		return err
	}
	if o.user != "" {
		return tool.Exit(statusAnswer, fault)
	}
	return tool.Exit(statusAnswer, refusal(fault, fault.Code, s))
}

// printAnswer prints what came back: the envelope, or the result or the fault as JSON.
func (p program) printAnswer(xml bool, answer json.RawMessage, raw string, fault *client.Fault) (err error) {
	if xml {
		if tool.IsTerminal(p.stdout) {
			raw = printable(raw)
		}
		_, err := fmt.Fprintln(p.stdout, raw)
		return err
	}
	out := []byte(answer)
	if fault != nil {
		if out, err = json.Marshal(map[string]any{"fault": map[string]string{"code": fault.Code, "message": fault.Message}}); err != nil {
			return err
		}
	}
	if tool.IsTerminal(p.stdout) {
		out = pretty(out)
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n", out)
	return err
}

// secret is the password that was given.
func (o *calling) secret() (string, error) {
	if o.password != "" && o.passwordFile != "" {
		return "", errors.New("--password and --password-file are both given; leave one out")
	}
	if o.passwordFile == "" {
		return o.password, nil
	}
	text, err := os.ReadFile(o.passwordFile)
	return strings.TrimRight(string(text), "\r\n"), err
}

// text is the envelope, with what is none of the operation's own elements inside of
// the element input where there is one.
func text(e *client.Envelope) (string, error) {
	out, err := e.Text()
	if err == nil {
		return out, nil
	}
	inner := *e
	inner.Input = inside(e.Contract.Parts(e.Operation), e.Input)
	if out, err = inner.Text(); err != nil {
		return "", meant(err)
	}
	*e = inner
	return out, nil
}

// inside puts into the element input what is none of the others.
func inside(parts []string, input map[string]any) map[string]any {
	if _, given := input["input"]; given || !slices.Contains(parts, "input") {
		return input
	}
	outer, inner := map[string]any{}, map[string]any{}
	for name, value := range input {
		if slices.Contains(parts, name) {
			outer[name] = value
		} else {
			inner[name] = value
		}
	}
	outer["input"] = inner
	return outer
}

// meant adds to an error of a name which one there is.
func meant(err error) error {
	unknown, ok := errors.AsType[*client.UnknownError](err)
	if !ok {
		return err
	}
	near := schema.Nearest(unknown.Name, unknown.Has)
	if near == "" {
		return err
	}
	said, has, _ := strings.Cut(unknown.Error(), "; ")
	if has != "" {
		has = " " + strings.ToUpper(has[:1]) + has[1:]
	}
	return fmt.Errorf("%s; did you mean %s?%s", said, near, has)
}

// inputOf reads what is given to an operation.
func inputOf(c *cobra.Command, args []string) (map[string]any, error) {
	input := map[string]any{}
	for _, arg := range args {
		text := arg
		var err error
		switch file, isFile := strings.CutPrefix(arg, "@"); {
		case arg == "-":
			text, err = readAll(c.InOrStdin())
		case isFile:
			var content []byte
			content, err = os.ReadFile(file)
			text = string(content)
		case !strings.HasPrefix(strings.TrimSpace(arg), "{"):
			name, value, ok := strings.Cut(arg, "=")
			if !ok {
				return nil, fmt.Errorf("%q is neither a JSON object nor name=value", arg)
			}
			if err := put(input, strings.Split(name, "."), value); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := decode(text, &input); err != nil {
			return nil, fmt.Errorf("the input is no JSON object: %w", err)
		}
	}
	return input, nil
}

// decode reads JSON without losing digits.
func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// put sets what is at the end of a path.
func put(in map[string]any, path []string, value string) error {
	if len(path) == 1 {
		var v any
		if decode(string(asJSON(value)), &v) != nil {
			v = value
		}
		in[path[0]] = v
		return nil
	}
	inner, ok := in[path[0]].(map[string]any)
	if _, taken := in[path[0]]; taken && !ok {
		return fmt.Errorf("%s is given twice", path[0])
	}
	if inner == nil {
		inner = map[string]any{}
		in[path[0]] = inner
	}
	return put(inner, path[1:], value)
}
