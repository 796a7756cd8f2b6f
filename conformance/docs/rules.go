package docs

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is how a block is tested.
type Kind string

// The kinds.
const (
	Compiled Kind = "SDL compiled"
	Executed Kind = "operations executed"
	Parsed   Kind = "JSON, XML and foreign SDL parsed"
	Compared Kind = "answers and outputs compared"
	Run      Kind = "commands and programs run"
	Written  Kind = "files written for what runs"
	Held     Kind = "held by another test"
	Named    Kind = "commands that take long: what they name is there"
	Picture  Kind = "pictures: what they name is there"
	NotRun   Kind = "not run"
)

// programs are the languages whose blocks are run.
var programs = []string{"sh", "python", "php", "js", "java", "csharp", "kotlin", "sql"}

// KindOf says how a block is tested. An error says what it lacks: a language, or a
// rule that says how it is tested or why it is not.
func KindOf(b Block) (Kind, error) {
	if langs := words[b.Rule]; langs != nil && !slices.Contains(langs, b.Language) {
		return "", fmt.Errorf("%s: the rule %q is not for %s", b, b.Rule, b.Language)
	}
	switch b.Rule {
	case "not":
		reason, _ := strings.CutPrefix(b.Argument, "run: ")
		if !slices.Contains(Reasons, reason) {
			return "", fmt.Errorf("%s: %q is none of the reasons for which a block is not run: %s", b, b.Argument, strings.Join(Reasons, "; "))
		}
		return NotRun, nil
	case "held":
		return Held, nil
	case "file":
		if !strings.Contains(b.Lead, "`"+b.Argument+"`") {
			return "", fmt.Errorf("%s: the text before it does not name the file `%s`", b, b.Argument)
		}
		return Written, nil
	case "answer", "output":
		return Compared, nil
	case "takes":
		return Named, nil
	case "picture":
		return Picture, nil
	}
	switch {
	case b.Rule == "foreign":
		return Parsed, nil
	case b.Rule == "stored":
		return Compiled, nil
	case b.IsOperation():
		return Executed, nil
	case b.Language == "graphql":
		return Compiled, nil
	case b.Language == "json" || b.Language == "xml":
		return Parsed, nil
	case slices.Contains(programs, b.Language):
		return Run, nil
	}
	return "", fmt.Errorf("%s: nothing says how a block of %q is tested; give it a language and a rule", b, b.Language)
}
