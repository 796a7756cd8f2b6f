package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidings/cmd/internal/boot"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand prints man pages.
func (p program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "man [DIR | COMMAND...]",
		Short:             "Write the man pages into a directory, or print one",
		Long:              "Print the man page of a command, or write those of all commands into a directory\nthat exists: tidings.1, tidings-watch.1 and so on.",
		Example:           "  tidings man watch | man -l -\n  tidings man ~/.local/share/man/man1",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              p.man,
	}
}

func (p program) man(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		if found, err := p.pagesInto(c.Root(), args[0]); found || err != nil {
			return err
		}
	}
	page, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return boot.Usage(fmt.Errorf("%[1]s is neither a command nor a directory; see tidings --help, or make the directory first: mkdir -p %[1]s", strings.Join(args, " ")))
	}
	_, err = p.stdout.Write(p.page(page))
	return err
}

// tree is a command and all below it, in the order of their names.
func tree(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, s := range visible(c) {
		list = slices.Concat(list, tree(s))
	}
	return list
}

// pagesInto writes the man pages of all commands into a directory. found: it is one.
func (p program) pagesInto(root *cobra.Command, dir string) (found bool, err error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false, nil
	}
	for _, c := range tree(root) {
		if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), p.page(c), 0o644); err != nil {
			return true, err
		}
	}
	return true, nil
}

// pageName is the name of a command's man page.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is the man page of a command, for man(7).
func (p program) page(c *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" Tidings \"Tidings\"\n.SH NAME\n%s \\- %s\n", roff(strings.ToUpper(pageName(c))), roff(pageName(c)), roff(c.Short))
	if text := p.ownHelp(c); text != "" {
		b.WriteString(".SH DESCRIPTION\n")
		verbatim(&b, text)
	} else {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n", roff(useLine(c)))
		paragraphs(&b, cmp.Or(c.Long, c.Short+"."))
		flagList(&b, c)
		if c.HasExample() {
			b.WriteString(".SH EXAMPLES\n")
			verbatim(&b, c.Example)
		}
	}
	related(&b, c)
	return b.Bytes()
}

// ownHelp is what a command says that reads its arguments by itself; empty for others.
func (p program) ownHelp(c *cobra.Command) string {
	if !c.DisableFlagParsing {
		return ""
	}
	if h, ok := map[string]boot.Help{"dev": devHelp, "doctor": doctorHelp}[c.Name()]; ok {
		var text strings.Builder
		_ = h.Print(&text, "tidings") // a builder takes everything
		return text.String()
	}
	return p.said(strings.Fields(c.CommandPath())[1:])
}

func flagList(b *bytes.Buffer, c *cobra.Command) {
	title := ".SH OPTIONS\n"
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			fmt.Fprintf(b, "%s.TP\n.B %s\n%s\n", title, roff(flagName(f)), roff(flagText(f)))
			title = ""
		}
	})
}

// related names the commands beside and below.
func related(b *bytes.Buffer, c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, pageName(c.Parent()))
	}
	for _, s := range visible(c) {
		names = append(names, pageName(s))
	}
	for i, name := range names {
		names[i] = ".BR " + roff(name) + " (1)"
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(names, ",\n"))
}

// paragraphs are texts between empty lines, which man fills.
func paragraphs(b *bytes.Buffer, text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(part) + "\n")
	}
}

// verbatim are lines as they stand.
func verbatim(b *bytes.Buffer, text string) {
	b.WriteString(".nf\n" + roff(strings.Trim(text, "\n")) + "\n.fi\n")
}

// roff is a text for roff: what would be an instruction is none, and letters beyond
// ASCII have their numbers.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`, "\n.", "\n\\&.").Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
