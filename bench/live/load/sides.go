package main

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// side is one server that is compared.
type side struct {
	name    string
	env     []string
	command []string
	target  func(g grouping) (target, bool) // false: the side has no such thing
	log     bool                            // its events come from the log, not from core NATS
}

// grouping is what the sockets ask for.
type grouping string

const (
	shared    grouping = "one operation"
	hundred   grouping = "100 operations"
	different grouping = "all variables different"
)

const fields = `{kind id at cursor user{id name avatar createdAt}}`

// operation is what the i-th socket subscribes to. Operations of another name
// are others to every side; the filters all match.
func (g grouping) operation(i int) string {
	query, variables := `subscription{userChanged`+fields+`}`, ""
	switch g {
	case hundred:
		query = fmt.Sprintf(`subscription S%05d{userChanged%s}`, i%100, fields)
	case different:
		query = `subscription($f:UserFilter){userChanged(filter:$f)` + fields + `}`
		variables = fmt.Sprintf(`,"variables":{"f":{"name":{"ne":"x%05d"}}}`, i)
	}
	return `{"query":` + strconv.Quote(query) + variables + `}`
}

func overGraphQL(path string) func(g grouping) (target, bool) {
	return func(g grouping) (target, bool) {
		return target{path: path, subprotocol: "graphql-transport-ws", hello: func(i int) []string {
			return []string{
				`{"type":"connection_init"}`,
				`{"id":"1","type":"subscribe","payload":` + g.operation(i) + `}`,
			}
		}}, true
	}
}

// sides lists the servers. bin is where the binaries are, dir a directory for
// what they write, nats the bus.
func sides(bin, dir, nats string) []*side {
	none := func(int) []string { return nil }
	return []*side{{
		name:   "tidings",
		env:    []string{"TIDINGS_NATS_URL=" + nats},
		target: overGraphQL("/graphql"),
		log:    true,
		command: []string{filepath.Join(bin, "api"), "--dev", "--listen", "LISTEN", "--admin", "", "--log-level", "warn",
			"--schema", *schemaDir, "--data", filepath.Join(dir, "data")},
	}, {
		name:    "gqlgen",
		target:  overGraphQL("/graphql"),
		command: []string{filepath.Join(bin, "gqlgen"), "-listen", "LISTEN", "-nats", nats},
	}, {
		name:    "centrifuge",
		command: []string{filepath.Join(bin, "centrifuge"), "-listen", "LISTEN", "-nats", nats},
		target: func(g grouping) (target, bool) {
			return target{path: "/connection/websocket", json: true, hello: func(int) []string {
				return []string{`{"id":1,"connect":{}}`, `{"id":2,"subscribe":{"channel":"events"}}`}
			}}, g == shared
		},
	}, {
		name:    "bare loop",
		command: []string{filepath.Join(bin, "bare"), "-listen", "LISTEN", "-nats", nats},
		target:  func(g grouping) (target, bool) { return target{path: "/", hello: none}, g == shared },
	}}
}
