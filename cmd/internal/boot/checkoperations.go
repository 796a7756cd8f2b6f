package boot

import (
	"tidings/graphql"
	"tidings/schema"
)

// CheckOperations returns which documents the schema and the limits of the service
// do not allow, and why; nil when all can be persisted.
func (c Config) CheckOperations(m *schema.Model, o *graphql.Operations) error {
	e, err := graphql.New(m, nil, nil, graphql.Options{Limits: c.limits(), Persisted: graphql.Persisted{Deployed: o}})
	if err != nil {
		return err
	}
	e.Close()
	return nil
}
