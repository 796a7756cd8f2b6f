package boot

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidings/bus"
	"tidings/graphql"
	"tidings/quota"
)

// defaultRate is how much a caller may do in a minute.
const defaultRate = "100/100000"

// checkLimits refuses limits that cannot be meant.
func (c *Config) checkLimits() error {
	if c.Limits != "enforce" && c.Limits != "measure" {
		return fmt.Errorf("TIDINGS_LIMITS is %.20q; it must be enforce or measure", c.Limits)
	}
	for name, n := range map[string]int{
		"MAX_DEPTH": c.MaxDepth, "MAX_TOKENS": c.MaxTokens, "MAX_ALIASES": c.MaxAliases, "MAX_ROOTS": c.MaxRoots, "MAX_PAGE": c.MaxPage,
		"MAX_CONNECTIONS": c.MaxConnections, "MAX_MESSAGES": c.MaxMessages, "MAX_SNAPSHOT": c.MaxSnapshot,
		"COST_ANONYMOUS": c.CostAnonymous, "COST_USER": c.CostUser, "COST_SERVICE": c.CostService,
	} {
		if n == 0 || n < -1 {
			return fmt.Errorf("%s%s must be at least 1, or -1 for no limit", prefix, name)
		}
	}
	// Without these a single client could take all memory.
	for name, n := range map[string]int{"MAX_BODY": c.MaxBody, "MAX_OPERATIONS": c.MaxOperations, "MAX_QUEUE": c.MaxQueue} {
		if n < 1 {
			return fmt.Errorf("%s%s must be at least 1", prefix, name)
		}
	}
	if c.MaxTime < time.Millisecond {
		return errors.New("TIDINGS_MAX_TIME must be at least 1ms, such as 10s")
	}
	if _, err := c.rates(); err != nil {
		return err
	}
	_, err := c.TrustedProxies()
	return err
}

func (c Config) limits() graphql.Limits {
	return graphql.Limits{
		Depth: c.MaxDepth, Tokens: c.MaxTokens, Aliases: c.MaxAliases, Roots: c.MaxRoots, Body: c.MaxBody,
		Page: c.MaxPage, Snapshot: c.MaxSnapshot, ListItems: c.MaxItems, StringBytes: c.MaxText,
		Cost:    graphql.Budgets{Anonymous: c.CostAnonymous, User: c.CostUser, Service: c.CostService},
		Measure: c.Limits == "measure",
	}
}

// rates reads the rate of each class. In development nobody is limited who was
// not told a rate: a newcomer's loop, or a load test, shall not meet one.
func (c Config) rates() (quota.Options, error) {
	o := quota.Options{Measure: c.Limits == "measure"}
	for _, class := range []struct {
		name, text string
		rate       *quota.Rate
	}{
		{"RATE_ANONYMOUS", c.RateAnonymous, &o.Anonymous}, {"RATE_USER", c.RateUser, &o.User}, {"RATE_SERVICE", c.RateService, &o.Service},
	} {
		if class.text == "" && !c.Dev {
			class.text = defaultRate
		}
		var err error
		if *class.rate, err = quota.ParseRate(class.text); err != nil {
			return o, fmt.Errorf("%s%s: %w", prefix, class.name, err)
		}
	}
	wrong, err := quota.ParseRate(c.RatePasswords)
	if err != nil {
		return o, fmt.Errorf("%sRATE_PASSWORDS: %.40q says nothing: write wrong passwords a minute from each address, and for each account, such as 10/100, or 0 for no limit", prefix, c.RatePasswords)
	}
	o.WrongFrom, o.WrongFor = wrong.Requests, wrong.Cost
	return o, nil
}

func (c Config) quota(b *bus.Bus, log *slog.Logger) (*quota.Limiter, error) {
	o, err := c.rates()
	if err != nil {
		return nil, err
	}
	o.Logger = log
	return quota.New(b, o), nil
}

// SocketsPerCaller is how many connections one caller may have; zero means no limit.
func (c Config) SocketsPerCaller() int {
	switch {
	case c.MaxSockets < 0, c.MaxSockets == 0 && c.Dev:
		return 0
	}
	return cmp.Or(c.MaxSockets, 100)
}

// SocketsPerAddress is how many connections may come from one address; zero
// means no limit.
func (c Config) SocketsPerAddress() int {
	switch {
	case c.MaxAddress < 0, c.MaxAddress == 0 && c.Dev:
		return 0
	}
	return cmp.Or(c.MaxAddress, 1000)
}

// TrustedProxies are the networks of Config.Proxies.
func (c Config) TrustedProxies() (quota.Proxies, error) {
	p, err := quota.ParseProxies(c.Proxies)
	if err != nil {
		return p, fmt.Errorf("TIDINGS_TRUSTED_PROXIES: %w", err)
	}
	return p, nil
}
