// Command centrifuge serves live events with the centrifuge library: its JSON
// protocol over WebSocket, one channel, everything else as its guide has it.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/centrifugal/centrifuge"
	"github.com/nats-io/nats.go"

	"tidings/bench/live/message"
)

func main() {
	listen := flag.String("listen", "", "address")
	url := flag.String("nats", "", "URL of the bus")
	flag.Parse()
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		log.Fatal(err)
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{}}, nil
	})
	node.OnConnect(func(c *centrifuge.Client) {
		c.OnSubscribe(func(_ centrifuge.SubscribeEvent, cb centrifuge.SubscribeCallback) {
			cb(centrifuge.SubscribeReply{}, nil)
		})
	})
	if err := node.Run(); err != nil {
		log.Fatal(err)
	}
	nc, err := nats.Connect(*url)
	if err != nil {
		log.Fatal(err)
	}
	_, err = nc.Subscribe("bench.events", func(m *nats.Msg) {
		if _, err := node.Publish("events", message.Data(m.Data)); err != nil {
			log.Print(err)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{}))
	log.Fatal(http.ListenAndServe(*listen, nil))
}
