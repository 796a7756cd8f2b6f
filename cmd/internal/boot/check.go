package boot

import (
	"errors"
	"strings"
)

// check refuses settings that cannot be meant together. What each may be by
// itself says its tag.
func (c *Config) check() error {
	for _, rule := range []struct {
		good   bool
		remedy string
	}{
		{c.Accounts == "" || c.AccountsFile == "", "TIDINGS_ACCOUNTS and TIDINGS_ACCOUNTS_FILE (--accounts) are both set; remove one"},
		{!c.PersistedOnly || c.Operations != "", "TIDINGS_PERSISTED_ONLY (--persisted-only) is set, but no operation is persisted: name their directory with TIDINGS_OPERATIONS"},
		{c.Schema != "", "TIDINGS_SCHEMA is set to nothing; it must name the directory of the *.graphql files"},
		{c.Prefix != "" && !strings.ContainsAny(c.Prefix, ".*> \t"), "TIDINGS_PREFIX must be one token of a subject: no dots, blanks and wildcards"},
	} {
		if !rule.good {
			return errors.New(rule.remedy)
		}
	}
	return errors.Join(c.checkViewURL(), checkOrigins(c.AllowedOrigins()), c.checkLimits(), c.checkTLS(), c.checkSOAPKeys(), c.checkNATS(), c.checkTraces())
}
