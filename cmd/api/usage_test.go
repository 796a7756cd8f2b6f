package main

import (
	"io"
	"strings"
	"testing"
)

func TestTheHelpNamesEveryCommand(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	if err := run(t.Context(), []string{"--help"}, nil, &help, io.Discard); err != nil {
		t.Fatal(err)
	}
	for name := range commands {
		if !strings.Contains(help.String(), "\n  api "+name+" ") {
			t.Errorf("api %s is not in the help", name)
		}
	}
}
