package main

import (
	"errors"
	"fmt"
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
