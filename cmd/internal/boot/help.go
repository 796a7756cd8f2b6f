package boot

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Help is the form in which a command says what it is for. In its texts $0 stands for
// the name of the program.
type Help struct {
	Text     string // what it does; lines as they stand
	Usage    string // how it is called; a line for each way
	Examples string // lines that run, and remarks after #; empty: none
	Flags    []FlagHelp
	Settings string // which settings of the service it takes; empty: none
}

// FlagHelp is a flag with what follows it, such as --out FILE, and what it does: with
// its unit and what holds without it.
type FlagHelp struct{ Name, What string }

// Print writes the help for a program.
func (h Help) Print(w io.Writer, program string) error {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(h.Text) + "\n")
	h.section(&b, "Usage", h.Usage)
	h.section(&b, "Examples", h.Examples)
	for i, f := range h.Flags {
		if i == 0 {
			b.WriteString("\nFlags:\n")
		}
		b.WriteString("  " + f.Name + "\n" + Paragraph(f.What))
	}
	if h.Settings != "" {
		b.WriteString("\nSettings:\n" + Paragraph(h.Settings))
	}
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), "$0", program))
	return err
}

func (h Help) section(b *strings.Builder, title, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for line := range strings.Lines(text) {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
}

// Settings say in a help that a command takes those of the service, and which matter.
func Settings(which string) string {
	return which + " They are flags or variables, as of the service: docs/configuration.md."
}

// FlagsOf are the flags of a set, in the order of their names. What follows a flag is
// the word in backquotes in what it says of itself.
func FlagsOf(set *flag.FlagSet) (list []FlagHelp) {
	set.VisitAll(func(f *flag.Flag) {
		kind, what := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			what += " (default " + f.DefValue + ")"
		}
		list = append(list, FlagHelp{strings.TrimSpace("--" + f.Name + " " + strings.ToUpper(kind)), what})
	})
	return list
}

// ReadFlags reads the flags of a command that takes nothing else. Whoever asks is told
// what it is for, and the error is ErrHelp; every other one is a UsageError.
func (h Help) ReadFlags(set *flag.FlagSet, program string, args []string, stdout io.Writer) error {
	set.SetOutput(discard{})
	set.Usage = func() {}
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		h.Flags = FlagsOf(set)
		return errors.Join(h.Print(stdout, program), ErrHelp)
	case err != nil:
		return Usage(meant(err, set, set.Name()))
	case set.NArg() > 0:
		return Usage(fmt.Errorf("unknown argument %q; see %s --help", set.Arg(0), set.Name()))
	}
	return nil
}

// Paragraph breaks a text into indented lines for a terminal of 80 columns.
func Paragraph(text string) string {
	const indent = "      "
	var b strings.Builder
	b.WriteString(indent)
	column := len(indent)
	for i, word := range strings.Fields(text) {
		width := utf8.RuneCountInString(word)
		if i > 0 && column+1+width > helpWidth {
			b.WriteString("\n" + indent)
			column = len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	b.WriteByte('\n')
	return b.String()
}
