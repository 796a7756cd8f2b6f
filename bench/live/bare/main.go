// Command bare is what a broadcast costs at least with gorilla/websocket: one
// loop that writes one prepared message to each socket, one write a message.
package main

import (
	"flag"
	"log"
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
	"github.com/nats-io/nats.go"

	"tidings/bench/live/message"
)

func main() {
	listen := flag.String("listen", "", "address")
	url := flag.String("nats", "", "URL of the bus")
	flag.Parse()
	nc, err := nats.Connect(*url)
	if err != nil {
		log.Fatal(err)
	}
	h := hub{sockets: map[*websocket.Conn]struct{}{}}
	if _, err := nc.Subscribe("bench.events", h.event); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", h.serve)
	log.Fatal(http.ListenAndServe(*listen, nil))
}

type hub struct {
	mu      sync.Mutex
	sockets map[*websocket.Conn]struct{}
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	h.set(ws, true)
	defer h.set(ws, false)
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			return
		}
	}
}

func (h *hub) set(ws *websocket.Conn, open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if open {
		h.sockets[ws] = struct{}{}
		return
	}
	delete(h.sockets, ws)
}

func (h *hub) event(m *nats.Msg) {
	prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, message.Next(m.Data))
	if err != nil {
		log.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for ws := range h.sockets {
		_ = ws.WritePreparedMessage(prepared) // the reader finds out
	}
}
