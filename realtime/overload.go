package realtime

import (
	"context"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// maxFarewells bounds the sockets that are told at a time that there is no place
// for them. Each costs a connection, for closeWait at most, beyond those that
// the hub may have; whoever comes while there are as many is refused by a status,
// which costs less.
const maxFarewells = 64

// overloaded takes a socket for which there is no place and closes it with 1013:
// a browser shows its page the code of a close frame, but not the status of a
// handshake that was refused. False: nothing was done, refuse it by a status.
// It returns when the client has answered, after closeWait at most.
func (h *Hub) overloaded(w http.ResponseWriter, r *http.Request, why error) bool {
	if !h.beginFarewell() {
		return false
	}
	defer h.endFarewell()
	ws, err := h.upgrade(&handshake{ResponseWriter: w}, r)
	if err == nil { // otherwise the upgrader has answered
		h.dismiss(ws, why)
	}
	return true
}

// tooLate closes a socket that lost its place, or the hub, to others while its
// handshake went on.
func (h *Hub) tooLate(ws *websocket.Conn, why error) {
	if !h.beginFarewell() {
		ws.Close()
		return
	}
	defer h.endFarewell()
	h.dismiss(ws, why)
}

func (h *Hub) beginFarewell() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining || h.farewells == maxFarewells {
		return false
	}
	h.farewells++
	h.wg.Add(1)
	return true
}

func (h *Hub) endFarewell() {
	h.mu.Lock()
	h.farewells--
	h.mu.Unlock()
	h.wg.Done()
}

// dismiss says 1013 and waits for the answer: the close of a connection on which
// something is unread, such as a connection_init, would overtake the frame.
func (h *Hub) dismiss(ws *websocket.Conn, why error) {
	defer ws.Close()
	defer context.AfterFunc(h.life, func() { ws.Close() })()
	deadline := time.Now().Add(closeWait)
	ws.SetPingHandler(nil) // from here on they are gorilla's own
	ws.SetCloseHandler(nil)
	ws.SetReadLimit(int64(h.opts.MaxMessage))
	if ws.SetReadDeadline(deadline) != nil ||
		ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(closeOverload, why.Error()), deadline) != nil {
		return
	}
	for {
		if _, _, err := ws.NextReader(); err != nil {
			return
		}
	}
}
