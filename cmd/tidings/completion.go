package main

import (
	"bytes"
	"fmt"
	"strings"

	"tidings/cmd/internal/boot"

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
			return boot.Usage(fmt.Errorf("there is no completion for %s: it is one of %s", args[0], strings.Join(names, ", ")))
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
