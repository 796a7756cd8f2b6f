// Command gqlgen serves the baseline over HTTP with gqlgen's own handler, as its
// guide sets it up: records from a file in memory, new ones published to
// JetStream, with its acknowledgement, at a server in the same process.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/vektah/gqlparser/v2/ast"

	"tidings/bench/gqlgen"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8082", "address")
	data := flag.String("data", "", "file of the records")
	dir := flag.String("dir", "", "directory of the stream")
	flag.Parse()
	if err := run(*listen, *data, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "gqlgen:", err)
		os.Exit(1)
	}
}

func run(listen, data, dir string) error {
	raw, err := os.ReadFile(data)
	if err != nil {
		return err
	}
	var users []*gqlgen.User
	if err := json.Unmarshal(raw, &users); err != nil {
		return err
	}
	byID := map[string]*gqlgen.User{}
	for _, u := range users {
		byID[u.ID] = u
	}
	js, err := stream(dir)
	if err != nil {
		return err
	}
	h := handler.New(gqlgen.NewExecutableSchema(gqlgen.Config{Resolvers: &gqlgen.Resolver{
		Get:  func(_ context.Context, id string) (*gqlgen.User, error) { return byID[id], nil },
		List: func(_ context.Context, first int) ([]*gqlgen.User, error) { return users[:min(first, len(users))], nil },
		Store: func(ctx context.Context, name string, record any) error {
			body, err := json.Marshal(record)
			if err == nil {
				_, err = js.Publish(ctx, "log."+name, body)
			}
			return err
		},
	}}))
	h.AddTransport(transport.GET{})
	h.AddTransport(transport.POST{})
	h.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	h.Use(extension.AutomaticPersistedQuery{Cache: lru.New[string](100)})
	http.Handle("/graphql", h)
	return http.ListenAndServe(listen, nil)
}

// stream opens a stream on an embedded server, kept in files.
func stream(dir string) (jetstream.JetStream, error) {
	ns, err := server.NewServer(&server.Options{JetStream: true, StoreDir: dir, DontListen: true, NoSigs: true})
	if err != nil {
		return nil, err
	}
	ns.Start()
	if !ns.ReadyForConnections(10 * time.Second) {
		return nil, fmt.Errorf("the server did not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	_, err = js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "log", Subjects: []string{"log.>"}, Storage: jetstream.FileStorage})
	return js, err
}
