package bus_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
)

// Whoever comes to the embedded server and does not say who it is, or says it byte
// by byte, is not kept.
func TestTheEmbeddedServerDoesNotWaitForStrangers(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0", Access: bus.Access{User: "u", Password: "p"}})
	address := strings.TrimPrefix(b.URL(), "nats://")
	for what, text := range map[string]string{"silent": "", "slow": `CONNECT {"verbose":fal`, "endless": "CONNECT " + strings.Repeat("x", 1<<20)} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, text) // fails where it is cut off meanwhile
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: it is kept", what)
		}
	}
}
