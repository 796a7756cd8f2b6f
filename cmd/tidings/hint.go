package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"regexp"
	"strings"
	"syscall"

	"tidings/client"
)

// away adds what to do to an error of somebody whom nobody answered.
func away(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w\nNobody is there. tidings dev DIR runs a service; --url names another", err)
	}
	return err
}

// permitted adds what to do to an error of files that this user may not use.
func permitted(err error) error {
	if !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "; ") { // which says it
		return err
	}
	who := "This user"
	if u, failed := user.Current(); failed == nil {
		who = "The user " + u.Username
	}
	return fmt.Errorf("%w\n%s may not do that: run it as the one who may, or name another file or directory", err, who)
}

// refusal adds what to do to the first error of an answer.
func refusal(first error, code string, s *client.Service) error {
	token, _ := s.Token() // was had a moment ago
	switch {
	case code == "FORBIDDEN" && strings.TrimSpace(token) == "":
		return fmt.Errorf("%w\nAsked without a token. --token or TIDINGS_TOKEN gives one; tidings token makes those of development", first)
	case code == "UNAUTHENTICATED":
		return fmt.Errorf("%w\nOf development, tidings token --data DIR makes another, where DIR is the --data of the service (tidings dev notes: notes/.tidings)", first)
	}
	return first
}

// asAPI matches the subcommands of api in what rooms say that do not know who is asked.
var asAPI = regexp.MustCompile("`api (schema|soap|log|bus|export|import) ")

// renamed is a text with the subcommands under the name of this program.
func renamed(text string) string { return asAPI.ReplaceAllString(text, "`tidings $1 ") }
