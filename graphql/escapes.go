package graphql

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
)

// plainEscapes replaces the two escapes of strings that gqlparser's lexer does
// not read as the specification says: the pair of surrogates \uD83D\uDE00, which
// is one character, and \u{1F600}. Blanks after the string keep everything
// behind it in its column. Surrogates without a partner are refused.
func plainEscapes(text string) (string, *gqlerror.Error) {
	if !strings.Contains(text, `\u`) {
		return text, nil
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); {
		switch {
		case text[i] == '#':
			i = lineEnd(text, i)
		case strings.HasPrefix(text[i:], `"""`):
			i = blockEnd(text, i+3)
		case text[i] == '"':
			end := stringEnd(text, i+1)
			plain, bad := plainString(text[i:end])
			if bad >= 0 {
				return "", refuse(position(text, i+bad), fault.ParseFailed, "Invalid Unicode escape sequence.")
			}
			b.WriteString(text[done:i])
			b.WriteString(plain)
			for range utf8.RuneCountInString(text[i:end]) - utf8.RuneCountInString(plain) {
				b.WriteByte(' ')
			}
			done, i = end, end
		default:
			i++
		}
	}
	b.WriteString(text[done:])
	return b.String(), nil
}

func lineEnd(text string, i int) int {
	if n := strings.IndexAny(text[i:], "\r\n"); n >= 0 {
		return i + n
	}
	return len(text)
}

// blockEnd returns the index after the block string whose text begins at i.
func blockEnd(text string, i int) int {
	for {
		n := strings.Index(text[i:], `"""`)
		if n < 0 {
			return len(text)
		}
		i += n + 3
		if text[i-4] != '\\' {
			return i
		}
	}
}

// stringEnd returns the index after the string whose text begins at i. A string
// that does not end is the lexer's to refuse.
func stringEnd(text string, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n', '\r':
			return i
		}
	}
	return len(text)
}

// plainString rewrites the escapes of one string. bad is the index of a
// surrogate without a partner, -1 when there is none.
func plainString(s string) (plain string, bad int) {
	if !strings.Contains(s, `\u`) {
		return s, -1
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '\\')
		if n < 0 || i+n+1 >= len(s) {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+n])
		i += n
		r, width := escaped(s[i:])
		if low, more := escaped(s[i+width:]); more > 0 && utf16.IsSurrogate(r) {
			r, width = utf16.DecodeRune(r, low), width+more
		}
		switch {
		case width == 0: // an escape that the lexer reads
			b.WriteString(s[i : i+2])
			i += 2
			continue
		case utf16.IsSurrogate(r) || r == utf8.RuneError && width == 12:
			return "", i
		case r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError:
			b.WriteString(`\u` + fourDigits(r))
		default:
			b.WriteRune(r)
		}
		i += width
	}
	return b.String(), -1
}

// escaped reads a Unicode escape that s begins with; width 0 when there is none.
func escaped(s string) (r rune, width int) {
	rest, ok := strings.CutPrefix(s, `\u`)
	if !ok {
		return 0, 0
	}
	digits, closed := rest, false
	if rest, ok = strings.CutPrefix(rest, "{"); ok {
		digits, _, closed = strings.Cut(rest, "}")
		if !closed || len(digits) > 8 {
			return 0, 0
		}
		width = len(digits) + len(`\u{}`)
	} else {
		if len(digits) < 4 {
			return 0, 0
		}
		digits, width = digits[:4], 6
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > utf8.MaxRune {
		return 0, 0
	}
	return rune(n), width
}

func fourDigits(r rune) string {
	digits := strconv.FormatInt(int64(r), 16)
	return "0000"[len(digits):] + digits
}

// position finds the line and column of an index.
func position(text string, index int) *ast.Position {
	before := text[:index]
	line := 1 + strings.Count(strings.ReplaceAll(before, "\r\n", "\n"), "\n")
	start := strings.LastIndexAny(before, "\r\n") + 1
	return &ast.Position{Line: line, Column: 1 + utf8.RuneCountInString(before[start:])}
}
