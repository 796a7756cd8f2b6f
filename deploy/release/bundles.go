package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bundlesPage gives what the builds of web wrote of the packages of npm that are
// in them, and refuses licences that may not come in. The packages name theirs
// themselves.
func bundlesPage() (string, error) {
	files, err := filepath.Glob("web/*/dist/LICENSES.md")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := bundled(string(text)); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		out.WriteString("\n")
		out.Write(text)
	}
	return out.String(), nil
}

// bundled looks at the rows of a table: package, version, licence.
func bundled(text string) error {
	rows := 0
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if strings.HasPrefix(line, "    ") || len(cells) != 5 || strings.Contains(line, "---") || strings.TrimSpace(cells[1]) == "package" {
			continue
		}
		rows++
		name, id := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[3])
		if !slices.Contains(allowed, id) {
			return fmt.Errorf("%s: the licence %s is not allowed; use another package, or argue for it in licences.go", name, id)
		}
	}
	if rows == 0 {
		return errors.New("it names no package; run make ui")
	}
	return nil
}
