package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"tidings/auth"
	"tidings/cmd/internal/boot"
)

// tokenCommand is `api token`: a token of the development key.
func tokenCommand(args, environ []string, stdout io.Writer) error {
	set := flag.NewFlagSet("api token", flag.ContinueOnError)
	set.SetOutput(stdout)
	sub := set.String("sub", "", "who the bearer is")
	roles := set.String("roles", "USER", "what the bearer may do: USER, ADMIN, SERVICE, comma separated")
	ttl := set.Duration("ttl", 24*time.Hour, "how long the token is good")
	data := set.String("data", "", "data directory that holds the development key (data)")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *ttl <= 0 {
		return fmt.Errorf("--ttl %s is not in the future; say how long the token is good, such as --ttl 24h", *ttl)
	}
	if *sub == "" {
		return errors.New("--sub is missing: name who the bearer of the token is, such as --sub alice")
	}
	settings := []string{"--dev"}
	if *data != "" {
		settings = append(settings, "--data", *data)
	}
	c, err := boot.ReadConfig("api", settings, environ, printer(io.Discard))
	if err != nil {
		return err
	}
	token, err := devToken(c, *sub, *roles, *ttl)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, token)
	return err
}

func devToken(c boot.Config, sub, roles string, ttl time.Duration) (string, error) {
	set, err := auth.ParseRoles(strings.Split(roles, ",")...)
	if err != nil {
		return "", err
	}
	secret := []byte(c.JWTSecret)
	if len(secret) == 0 {
		if secret, err = boot.DevSecret(c.Data); err != nil {
			return "", err
		}
	}
	return auth.Sign(secret, auth.Principal{Subject: sub, Roles: set}, ttl)
}
