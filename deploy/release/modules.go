package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// standard is what the standard library is called beside the modules.
const standard = "stdlib"

// source is a module that is linked in, and where its text lies.
type source struct {
	path string
	dirs []string // of the packages that are linked, and those above them up to the module
}

// linked lists what is linked into the programs on any platform, by path, and the
// standard library, which comes first.
func linked() ([]source, error) {
	dirs := map[string]map[string]bool{}
	for _, p := range platforms {
		if err := p.linked(dirs); err != nil {
			return nil, fmt.Errorf("list what is linked for %s: %w", p, err)
		}
	}
	root, err := goRoot()
	if err != nil {
		return nil, err
	}
	list := []source{{path: standard, dirs: []string{root}}}
	for _, path := range slices.Sorted(maps.Keys(dirs)) {
		list = append(list, source{path: path, dirs: slices.Sorted(maps.Keys(dirs[path]))})
	}
	return list, nil
}

func (p platform) linked(dirs map[string]map[string]bool) error {
	args := []string{"list", "-deps", "-json=Dir,Module"}
	for _, name := range programs {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	var problems bytes.Buffer
	cmd.Env, cmd.Stderr = p.environ(), &problems
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, problems.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			Dir    string
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if pkg.Module == nil || pkg.Module.Main {
			continue
		}
		in := dirs[pkg.Module.Path]
		if in == nil {
			in = map[string]bool{}
			dirs[pkg.Module.Path] = in
		}
		for dir := pkg.Dir; len(dir) >= len(pkg.Module.Dir); dir = filepath.Dir(dir) {
			in[dir] = true
		}
	}
}

// goRoot is where the standard library lies that builds the programs.
func goRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out)), err
}

// legal are the names of files that say a licence, or what must be said with it.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|copyright)([-._].*)?$`)

// texts returns what the module's licence files say, by their names, the shortest
// first. What concerns a logo alone is none of them.
func (s source) texts() ([]string, error) {
	var list []string
	for _, dir := range s.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !legal.MatchString(e.Name()) || e.IsDir() || strings.Contains(e.Name(), "LOGO") || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			if tidy := plain(string(text)); !slices.Contains(list, tidy) {
				list = append(list, tidy)
			}
		}
	}
	return list, nil
}

// plain drops what differs between two copies of one text and says nothing.
func plain(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
