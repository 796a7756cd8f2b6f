package tidings_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// telemetryPage lists the keys of the log in a table, each with what it means.
const telemetryPage = "docs/telemetry.md"

var logKeyRow = regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+`) \\| [^|]+ \\|$")

// A thing has the same key wherever the log tells of it, so that who looks for a
// user or a connection finds all lines: a new key is argued for in the table.
func TestTheLogHasTheKeysThatAreDocumented(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, telemetryPage), "### Keys")
	documented := map[string]bool{}
	for _, row := range logKeyRow.FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(row[1], ",") {
			documented[strings.Trim(strings.TrimSpace(name), "`")] = true
		}
	}
	used := map[string]string{"time": "slog", "level": "slog", "msg": "slog"}
	for _, s := range sources(t) {
		if s.test || s.room == "." || under(outside, s.room) || slices.Contains(testRooms, s.room) {
			continue
		}
		for _, key := range logKeys(t, s.file) {
			used[key] = s.file
			if !documented[key] {
				t.Errorf("%s logs the key %q, which %s does not have: use the one of the same meaning, or add a row", s.file, key, telemetryPage)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(documented)) {
		if used[key] == "" {
			t.Errorf("%s has the key %q, which nothing logs", telemetryPage, key)
		}
	}
}

// logKeys are the keys in a file that are given to slog.
func logKeys(t *testing.T, file string) (keys []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch on, _ := method.X.(*ast.Ident); {
		case on != nil && on.Name == "slog" && len(call.Args) > 1 && attributes[method.Sel.Name]:
			keys = append(keys, texts(call.Args[:1])...)
		case (on == nil || on.Name != "http") && loggers[strings.TrimSuffix(method.Sel.Name, "Context")] && len(call.Args) > 2 && len(texts(call.Args[:2])) > 0:
			first := 1
			if strings.HasSuffix(method.Sel.Name, "Context") {
				first = 2
			}
			for i := first; i < len(call.Args); i += 2 {
				keys = append(keys, texts(call.Args[i:i+1])...)
			}
		}
		return true
	})
	return keys
}

// attributes are the functions of slog that make one, loggers the methods that take
// keys and values in turn.
var (
	attributes = map[string]bool{"String": true, "Int": true, "Int64": true, "Uint64": true, "Float64": true, "Bool": true, "Duration": true, "Time": true, "Any": true}
	loggers    = map[string]bool{"Debug": true, "Info": true, "Warn": true, "Error": true}
)

// texts are the values of those expressions that are texts.
func texts(list []ast.Expr) (values []string) {
	for _, e := range list {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				values = append(values, text)
			}
		}
	}
	return values
}
