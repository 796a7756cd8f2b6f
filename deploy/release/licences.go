package main

import (
	"fmt"
	"slices"
	"strings"
)

// licence is one that may come in.
type licence struct {
	id    string // of the SPDX list
	words string // what its text says and that of no other does, in small letters and single blanks
}

// known are the licences that are recognised, by words of their own. A text may
// hold several. What is recognised and is not among the allowed is refused, and
// so is a module in which nothing is recognised.
var known = []licence{
	{"Apache-2.0", "apache license, version 2.0"},
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms"}, // or BSD-3-Clause: see classify
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"MPL-2.0", "mozilla public license version 2.0 =="},
	{"MPL-2.0", "mozilla public license, version 2.0 1. definitions"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"blessing", "sqlite is public domain"},
	{"AGPL-3.0-only", "gnu affero general public license version 3"},
	{"GPL-2.0-only", "gnu general public license version 2, june 1991"},
	{"GPL-3.0-only", "gnu general public license version 3, 29 june 2007"},
	{"LGPL-2.1-only", "gnu lesser general public license version 2.1"},
	{"LGPL-3.0-only", "gnu lesser general public license version 3"},
	{"BUSL-1.1", "business source license 1.1"},
	{"SSPL-1.0", "server side public license"},
	{"Elastic-2.0", "elastic license 2.0"},
	{"EPL-2.0", "eclipse public license - v 2.0"},
}

// allowed may be linked into a program that is given away under Apache-2.0.
// MPL-2.0 binds the files under it alone, and they are linked in unchanged.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "blessing"}

// classify names the licences that a text holds.
func classify(text string) []string {
	words := strings.Join(strings.Fields(strings.ToLower(strings.NewReplacer("(c)", " ", "*", " ", "#", " ").Replace(text))), " ")
	var ids []string
	for _, l := range known {
		if !strings.Contains(words, l.words) {
			continue
		}
		id := l.id
		if id == "BSD-2-Clause" && (strings.Contains(words, "neither the name") || strings.Contains(words, "may not be used to endorse or promote") || strings.Contains(words, "may be used to endorse or promote")) {
			id = "BSD-3-Clause"
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// terms are the licences of one module with their texts.
type terms struct {
	path  string
	ids   []string
	texts []string
}

// expression is the SPDX expression: all of them hold.
func (t terms) expression() string { return strings.Join(t.ids, " AND ") }

// of reads the terms of a module, and refuses those that may not come in.
func of(s source) (terms, error) {
	texts, err := s.texts()
	if err != nil {
		return terms{}, err
	}
	t := terms{path: s.path, texts: texts}
	for _, text := range texts {
		t.ids = append(t.ids, classify(text)...)
	}
	slices.Sort(t.ids)
	t.ids = slices.Compact(t.ids)
	if len(t.ids) == 0 {
		return t, fmt.Errorf("%s: no licence is recognised in its %d licence files; read them, and teach licences.go its words", s.path, len(texts))
	}
	for _, id := range t.ids {
		if !slices.Contains(allowed, id) {
			return t, fmt.Errorf("%s: the licence %s is not allowed; use another module, or argue for it in licences.go", s.path, id)
		}
	}
	return t, nil
}

// licencesPage lists what is linked in, with all texts, and what is bundled for
// browsers. Versions of modules are left out, so
// that it changes when a module or its terms do; they are in the programs and in
// the bills of materials.
func licencesPage() (string, error) {
	modules, err := linked()
	if err != nil {
		return "", err
	}
	var list []terms
	for _, m := range modules {
		t, err := of(m)
		if err != nil {
			return "", err
		}
		list = append(list, t)
	}
	bundles, err := bundlesPage()
	if err != nil {
		return "", err
	}
	return page(list) + bundles, nil
}

func page(list []terms) string {
	var out strings.Builder
	out.WriteString("# Licences of what is linked in\n\nMade by `make licences`. The programs `api`, `worker` and `tidings` hold code of these modules, unchanged, under these licences; the source of each is had from the Go module proxy under its name, in the version that `go version -m api` says.\n\n| module | licences |\n|---|---|\n")
	for _, t := range list {
		fmt.Fprintf(&out, "| %s | %s |\n", t.name(), t.expression())
	}
	out.WriteString("\n## Texts\n")
	for _, text := range distinct(list) {
		out.WriteString("\n### Of " + strings.Join(text.of, ", ") + "\n\n")
		for line := range strings.Lines(text.text + "\n") {
			out.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
	}
	return out.String()
}

func (t terms) name() string {
	if t.path == standard {
		return "the standard library of Go"
	}
	return t.path
}

// said is a text and the modules whose it is.
type said struct {
	text string
	of   []string
}

// distinct lists the texts, each once.
func distinct(list []terms) []said {
	var texts []said
	for _, t := range list {
		for _, text := range t.texts {
			i := slices.IndexFunc(texts, func(s said) bool { return s.text == text })
			if i < 0 {
				texts = append(texts, said{text: text})
				i = len(texts) - 1
			}
			texts[i].of = append(texts[i].of, t.name())
		}
	}
	return texts
}
