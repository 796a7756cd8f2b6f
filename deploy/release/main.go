// Command release builds what is given to others: the programs for each
// platform, archives of them with checksums, bills of materials, and the list of
// the licences of what is linked in. The same tree and the same Go give the same
// bytes, in whatever directory and however often. docs/release.md says what is in
// them and how to check it.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const usage = `usage: release COMMAND, at the root of the tree

  build DIR PLATFORM...   the programs, in DIR/PLATFORM; such as linux/amd64
  dist DIR                archives, bills of materials and SHA256SUMS of all platforms, in DIR
  image-sbom DIR NAME     the bill of materials of an image that holds the programs in DIR
  version DIR             the version that the programs in DIR say
  licences                the licences of all that is linked in (THIRD_PARTY_LICENSES.md)
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	word := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch {
	case word(0) == "build" && len(args) > 2:
		for _, p := range args[2:] {
			if err := build(filepath.Join(args[1], filepath.FromSlash(p)), platform(p)); err != nil {
				return err
			}
		}
		return nil
	case word(0) == "dist" && len(args) == 2:
		return dist(args[1])
	case word(0) == "image-sbom" && len(args) == 3:
		return imageSBOM(os.Stdout, args[1], args[2])
	case word(0) == "version" && len(args) == 2:
		b, err := read(args[1])
		if err == nil {
			fmt.Println(b.version)
		}
		return err
	case word(0) == "licences" && len(args) == 1:
		text, err := licencesPage()
		if err == nil {
			fmt.Print(text)
		}
		return err
	}
	return errors.New(strings.TrimSpace(usage))
}
