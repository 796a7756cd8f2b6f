// Command install builds the programs of NATS that operators use into a directory:
// install DIR.
package main

import (
	"errors"
	"fmt"
	"os"

	"tidings/conformance/tool"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "install DIR")
		os.Exit(2)
	}
	if err := errors.Join(tool.NATS.Build(os.Args[1]), tool.NSC.Build(os.Args[1])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
