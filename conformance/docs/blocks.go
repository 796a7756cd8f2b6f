// Package docs reads the code blocks of the documentation, and what its hidden
// comments say of how each is tested.
//
// A block is tested by its language: SDL is compiled, an operation executed on the
// service that the page has started, json parsed, sh run, and so on; the blocks of
// a page run one after another in one directory. A comment before a block says
// what its language cannot:
//
//	<!-- test: as 1 -->               sh: the block ends with this status
//	<!-- test: until COMMAND -->      sh: in the background; go on when COMMAND succeeds
//	<!-- test: variables {…} -->      graphql: the variables of the operation
//	<!-- test: stored -->             graphql: operations that are stored beside the schema before them
//	<!-- test: foreign -->            graphql: SDL with the directives of others
//	<!-- test: file NAME -->          the block is written into this file, which the text before it names
//	<!-- test: answer -->             json: what the block before has answered; … stands for anything
//	<!-- test: output -->             text: lines of what the block before has written, in order
//	<!-- test: held by TestName -->   another test reads the block from the page
//	<!-- test: takes long -->         sh: it is not run; each program, target, test and package that it names is there
//	<!-- test: picture -->            text: what it names is there
//	<!-- test: not run: REASON -->    one of Reasons
//
// and <!-- test: with, then lines up to -->, has lines that complete the block: in
// its language, before it, or around it where a line %% stands for the block. The
// lines of <!-- test: setup are shell that runs at this place of the page; what
// they write can be what an answer or an output is compared with.
package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// Reasons are why a block may be left out.
var Reasons = []string{
	"needs a platform that is not installed",
}

// Block is one fenced block of a page, or the lines of a setup.
type Block struct {
	Page     string // as it was given
	Line     int    // of the fence, from 1
	Language string // "setup" for the lines of a setup
	Text     string // without the indentation of its fence
	Lead     string // the text of the page between this block and the one before

	Rule          string // the first word of its comment, empty without one
	Argument      string // what follows on the comment's first line
	Before, After string // the hidden lines that complete it
}

// String is the place of the block: page:line.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Source is the block with what completes it.
func (b Block) Source() string { return b.Before + b.Text + b.After }

// IsOperation reports whether a block of GraphQL is an operation, and not SDL.
func (b Block) IsOperation() bool { return b.Language == "graphql" && operation.MatchString(b.Text) }

var (
	fence     = regexp.MustCompile("^( *)(```+)\\s*(.*?)\\s*$")
	comment   = regexp.MustCompile(`^( *)<!-- test: *(.*?)( *-->)?$`)
	operation = regexp.MustCompile(`(?m)\A(?:\s*#.*\n|\s)*(?:query|mutation|subscription|fragment|\{)`)
)

// words are the rules with the languages that know them; nil: all.
var words = map[string][]string{
	"as": {"sh"}, "until": {"sh"}, "variables": {"graphql"}, "answer": {"json"}, "output": {"text", "json"}, "stored": {"graphql"}, "foreign": {"graphql"},
	"with": nil, "file": nil, "held": nil, "not": nil, "setup": nil,
	"takes": {"sh"}, "picture": {"text"},
}

// Read returns the blocks of a page in order. An error names the line of a fence or
// a comment that is not closed, or of a rule that there is not.
func Read(page, text string) ([]Block, error) {
	r := reader{page: page, lines: strings.Split(text, "\n")}
	for r.at < len(r.lines) {
		if err := r.next(); err != nil {
			return nil, err
		}
	}
	if r.rule != nil {
		return nil, fmt.Errorf("%s: no block follows the comment", r.rule)
	}
	return r.blocks, nil
}

type reader struct {
	page   string
	lines  []string
	at     int
	lead   strings.Builder
	rule   *Block // what a comment said of the block that follows
	blocks []Block
}

// next takes a comment, a block or a line of text.
func (r *reader) next() error {
	line := r.lines[r.at]
	if m := comment.FindStringSubmatch(line); m != nil {
		return r.comment(m[1], m[2], m[3] != "")
	}
	if m := fence.FindStringSubmatch(line); m != nil {
		return r.block(m[1], m[2], m[3])
	}
	if r.rule != nil && strings.TrimSpace(line) != "" {
		return fmt.Errorf("%s: no block follows the comment", r.rule)
	}
	r.lead.WriteString(line + "\n")
	r.at++
	return nil
}

func (r *reader) comment(indent, head string, closed bool) error {
	b := Block{Page: r.page, Line: r.at + 1}
	b.Rule, b.Argument, _ = strings.Cut(head, " ")
	r.at++
	if _, known := words[b.Rule]; !known {
		return fmt.Errorf("%s: there is no rule %q", b, b.Rule)
	}
	for at := &b.Before; !closed; r.at++ {
		if r.at == len(r.lines) {
			return fmt.Errorf("%s: the comment is not closed", b)
		}
		switch line := strings.TrimPrefix(r.lines[r.at], indent); strings.TrimSpace(line) {
		case "-->":
			closed = true
		case "%%":
			at = &b.After
		default:
			*at += line + "\n"
		}
	}
	if b.Rule == "setup" {
		b.Language, b.Text, b.Before = "setup", b.Before, ""
		r.blocks = append(r.blocks, b)
		return nil
	}
	if r.rule != nil {
		return fmt.Errorf("%s: the block has two rules", b)
	}
	r.rule = &b
	return nil
}

func (r *reader) block(indent, mark, language string) error {
	b := Block{Page: r.page, Line: r.at + 1}
	if r.rule != nil {
		b.Rule, b.Argument, b.Before, b.After = r.rule.Rule, r.rule.Argument, r.rule.Before, r.rule.After
	}
	b.Language, b.Lead = language, r.lead.String()
	var text strings.Builder
	for r.at++; ; r.at++ {
		if r.at == len(r.lines) {
			return fmt.Errorf("%s: the block is not closed", b)
		}
		line := strings.TrimPrefix(r.lines[r.at], indent)
		if line == mark {
			break
		}
		text.WriteString(line + "\n")
	}
	b.Text = text.String()
	r.at++
	r.rule = nil
	r.lead.Reset()
	r.blocks = append(r.blocks, b)
	return nil
}
