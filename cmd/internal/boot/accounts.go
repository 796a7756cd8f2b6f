package boot

import (
	"fmt"
	"slices"

	"tidings/auth"
)

// accounts reads who may call the SOAP binding, and the authorities of their
// certificates; the development account is one of them, unless it is zero or its name is taken. Where
// they are in files, these are kept.
func (c Config) accounts(dev DevAccount) (*auth.Accounts, []*kept, error) {
	accounts, err := auth.NewAccounts(nil)
	if err != nil {
		return nil, nil, err
	}
	k, err := keep("the accounts", func(texts [][]byte) error {
		if c.AccountsFile == "" {
			texts[0] = []byte(c.Accounts)
		}
		return c.fill(accounts, dev, texts[0], texts[1])
	}, c.AccountsFile, c.SOAPCA)
	return accounts, []*kept{k}, err
}

// fill puts the accounts and authorities of two texts into force.
func (c Config) fill(accounts *auth.Accounts, dev DevAccount, text, ca []byte) error {
	authorities, err := auth.ParseAuthorities(ca)
	if err != nil {
		return fmt.Errorf("%s: %w", c.SOAPCA, err)
	}
	from := c.AccountsFile
	if from == "" {
		from = "TIDINGS_ACCOUNTS"
	}
	list, err := auth.ParseAccounts(text)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if dev.User != "" && !slices.ContainsFunc(list, func(a auth.Account) bool { return a.User == dev.User }) {
		list = append(list, auth.Account{User: dev.User, Secrets: []string{dev.Password}, Roles: dev.Roles})
	}
	if err := accounts.Replace(list, authorities...); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}
