package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"tidings/client"
	"tidings/cmd/internal/boot"
)

// The variables that say which service is meant, and who calls.
const (
	variableURL   = "TIDINGS_URL"
	variableToken = "TIDINGS_TOKEN"
)

// remote are the flags of those who call a service.
type remote struct {
	url, token, tokenFile string
}

func (r *remote) flags(set *pflag.FlagSet) {
	set.StringVarP(&r.url, "url", "u", "", "address of the service (TIDINGS_URL, or without it http://localhost:8080/graphql)")
	set.StringVarP(&r.token, "token", "t", "", "token to come with, which other users of the machine can see in the list of processes (TIDINGS_TOKEN, or without it an anonymous caller)")
	set.StringVar(&r.tokenFile, "token-file", "", "file of the token, read anew for each connection")
}

// endpoint is the address of GraphQL. Without a path it is /graphql.
func (r *remote) endpoint(environ []string) (*url.URL, error) {
	text := cmp.Or(r.url, variable(environ, variableURL), "http://localhost:8080/graphql")
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, boot.Usage(fmt.Errorf("--url %s is not of the form http://localhost:8080/graphql, or https", text))
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/graphql"
	}
	return u, nil
}

// service is the one that is meant.
func (r *remote) service(environ []string) (*client.Service, error) {
	u, err := r.endpoint(environ)
	if err != nil {
		return nil, err
	}
	if r.token != "" && r.tokenFile != "" {
		return nil, boot.Usage(errors.New("--token and --token-file are both given; leave one out"))
	}
	token := cmp.Or(r.token, variable(environ, variableToken))
	s := &client.Service{URL: u.String(), Token: func() (string, error) { return token, nil }}
	if r.tokenFile != "" {
		s.Token = func() (string, error) {
			text, err := os.ReadFile(r.tokenFile)
			return string(text), err
		}
	}
	return s, nil
}

// variable is the value of a variable, and empty when it is not set.
func variable(environ []string, name string) string {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// readAll reads what comes on the standard input.
func readAll(r io.Reader) (string, error) {
	text, err := io.ReadAll(r)
	return string(text), err
}
