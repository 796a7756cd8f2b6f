package boot

import (
	"fmt"
	"log/slog"

	"tidings/bus"
	"tidings/graphql"
	"tidings/quota"
)

// checkLimits refuses rates and proxies that cannot be read.
func (c *Config) checkLimits() error {
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

// rates reads the rate of each class.
func (c Config) rates() (quota.Options, error) {
	o := quota.Options{Measure: c.Limits == "measure"}
	for _, class := range []struct {
		name, text string
		rate       *quota.Rate
	}{
		{"RATE_ANONYMOUS", c.RateAnonymous, &o.Anonymous}, {"RATE_USER", c.RateUser, &o.User}, {"RATE_SERVICE", c.RateService, &o.Service},
	} {
		if class.text == "" {
			return o, fmt.Errorf("%s%s is set to nothing; write requests and cost units a minute such as 100/100000, or 0 for no limit", prefix, class.name)
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

// TrustedProxies are the networks of Config.Proxies.
func (c Config) TrustedProxies() (quota.Proxies, error) {
	p, err := quota.ParseProxies(c.Proxies)
	if err != nil {
		return p, fmt.Errorf("TIDINGS_TRUSTED_PROXIES: %w", err)
	}
	return p, nil
}
