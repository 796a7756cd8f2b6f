package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// licenceTexts are the beginnings of texts as they are found.
var licenceTexts = map[string]string{
	"MIT":          "MIT License\n\nCopyright (c) 2030 Somebody\n\nPermission is hereby granted, free of charge, to any person obtaining\na copy of this software",
	"Apache-2.0":   "                                 Apache License\n                           Version 2.0, January 2004\n",
	"BSD-2-Clause": "Redistribution and use in source and binary forms, with or without\nmodification, are permitted",
	"BSD-3-Clause": "Redistribution and use in source and\nbinary forms, with or without modification\n * Neither the name of Google Inc.",
	"MPL-2.0":      "Mozilla Public License, version 2.0\n\n1. Definitions\n ... the GNU General Public License, Version 2.0, ...",
	"GPL-3.0-only": "                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007\n",
	"":             "All rights reserved. Ask us.",
}

func TestLicencesAreRecognised(t *testing.T) {
	t.Parallel()
	for want, text := range licenceTexts {
		if got := strings.Join(classify(text), " AND "); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestWhatIsNotAllowedDoesNotComeIn(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"MIT": "", "MPL-2.0": "", "GPL-3.0-only": "GPL-3.0-only is not allowed", "": "no licence is recognised"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "LICENSE.txt"), []byte(licenceTexts[id]), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := of(source{path: "example.org/x", dirs: []string{dir}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}

func TestWhatIsNotAllowedIsNotBundled(t *testing.T) {
	t.Parallel()
	const head = "# Licences\n\n| package | version | licence |\n|---|---|---|\n"
	for text, want := range map[string]string{
		head + "| a | 1.0.0 | MIT |\n| b | 2.0.0 | 0BSD |\n\n    | c | 1.0.0 | quoted |\n": "",
		head + "| a | 1.0.0 | MIT |\n| b | 2.0.0 | GPL-3.0-only |\n":                       "b: the licence GPL-3.0-only is not allowed",
		head: "it names no package",
	} {
		err := bundled(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestATextThatSeveralModulesShareIsListedOnce(t *testing.T) {
	t.Parallel()
	text := page([]terms{
		{path: standard, ids: []string{"BSD-3-Clause"}, texts: []string{"the one"}},
		{path: "example.org/a", ids: []string{"Apache-2.0", "MIT"}, texts: []string{"the one", "the other"}},
	})
	for _, part := range []string{"| example.org/a | Apache-2.0 AND MIT |", "### Of the standard library of Go, example.org/a\n\n    the one\n", "### Of example.org/a\n\n    the other\n"} {
		if strings.Count(text, part) != 1 {
			t.Errorf("%q is not there once:\n%s", part, text)
		}
	}
}

func TestAnArchiveIsTheSameBytesAgain(t *testing.T) {
	t.Parallel()
	var archives []string
	for range 2 {
		dir := t.TempDir()
		var files []string
		for _, name := range []string{"api", "README.md"} {
			files = append(files, filepath.Join(dir, name))
			if err := os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := archive(&out, "folder", time.Unix(1e9, 0), files); err != nil {
			t.Fatal(err)
		}
		archives = append(archives, out.String())
	}
	if archives[0] != archives[1] {
		t.Error("two archives of the same files differ")
	}
	if got, want := entries(t, archives[0]), []string{"-rwxr-xr-x folder/api", "-rw-r--r-- folder/README.md"}; !slices.Equal(got, want) {
		t.Errorf("it holds %q, want %q", got, want)
	}
}

func entries(t *testing.T, archive string) (list []string) {
	t.Helper()
	zip, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, h.FileInfo().Mode().String()+" "+h.Name)
	}
}

func TestABillNamesEveryModuleOnceAndHasASerialOfItsOwn(t *testing.T) {
	t.Parallel()
	b := built{goes: "go1.26.8", sums: map[string]string{"api": "aa", "worker": "bb"}, modules: []*debug.Module{
		{Path: "example.org/b", Version: "v2.0.0+incompatible", Sum: "h1:b"}, {Path: "example.org/a", Version: "v1.0.0", Sum: "h1:a"},
	}}
	list := b.libraries(map[string]string{standard: "BSD-3-Clause", "example.org/a": "MIT", "example.org/b": "ISC"})
	var got []string
	for _, c := range list {
		got = append(got, c.PURL+" "+c.Licences[0].Expression)
	}
	want := []string{"pkg:golang/stdlib@1.26.8 BSD-3-Clause", "pkg:golang/example.org/a@v1.0.0 MIT", "pkg:golang/example.org/b@v2.0.0%2Bincompatible ISC"}
	if !slices.Equal(got, want) {
		t.Errorf("it lists %q, want %q", got, want)
	}
	one, other := serial(bill{Components: list}), serial(bill{Components: list[:2]})
	if one == other || one != serial(bill{Components: list}) || len(one) != len("urn:uuid:")+36 || one[len("urn:uuid:")+14] != '8' {
		t.Errorf("the serials are %s and %s", one, other)
	}
	if _, err := json.Marshal(list); err != nil {
		t.Error(err)
	}
}
