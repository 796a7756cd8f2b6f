package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// shells are those that commands can be completed in, with what takes it in.
var shells = []struct{ name, use string }{
	{"bash", "tidings completion bash > ~/.local/share/bash-completion/completions/tidings\n  # or, in ~/.bashrc:  source <(tidings completion bash)"},
	{"zsh", "tidings completion zsh > \"${fpath[1]}/_tidings\"\n  # or, in ~/.zshrc, after compinit:  source <(tidings completion zsh)"},
	{"fish", "tidings completion fish > ~/.config/fish/completions/tidings.fish"},
}

func completionCommand() *cobra.Command {
	var names, uses []string
	for _, s := range shells {
		names, uses = append(names, s.name), append(uses, "  "+s.use)
	}
	return &cobra.Command{
		Use:               "completion " + strings.Join(names, "|"),
		Short:             "Print what completes commands in a shell",
		Long:              "Print the script with which a shell completes commands, flags, settings and names of\nfiles. It asks this program, so that it stays right when the program is another.",
		Example:           strings.Join(uses, "\n"),
		Args:              one("the shell: " + strings.Join(names, ", ")),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			switch args[0] {
			case "bash":
				return bashCompletion(c)
			case "zsh":
				return c.Root().GenZshCompletion(out)
			case "fish":
				return c.Root().GenFishCompletion(out, true)
			}
			return usageError{fmt.Errorf("there is no completion for %s: it is one of %s", args[0], strings.Join(names, ", "))}
		},
	}
}

// bashAlone stands in for two functions of the package bash-completion, which many
// machines do not have.
const bashAlone = `
__tidings_words() {
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@"
        return
    fi
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
}

__tidings_files() {
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local file
    while IFS= read -r file; do
        [[ -d $file || -z ${1-} || $1 == -d && -d $file ]] && COMPREPLY+=("$file") && continue
        [[ $1 != -d && $file =~ \.(${1//@(|)/})$ ]] && COMPREPLY+=("$file")
    done < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
}
`

// bashCompletion is cobra's script, which also works without bash-completion.
func bashCompletion(c *cobra.Command) error {
	var script bytes.Buffer
	if err := c.Root().GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	text := strings.NewReplacer("_get_comp_words_by_ref", "__tidings_words", "_filedir", "__tidings_files").Replace(script.String())
	_, err := fmt.Fprint(c.OutOrStdout(), strings.TrimRight(text, "\n"), "\n", bashAlone)
	return err
}

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
		return usageError{fmt.Errorf("%s is neither a command nor a directory", strings.Join(args, " "))}
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
