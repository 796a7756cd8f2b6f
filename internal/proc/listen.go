package proc

import (
	"context"
	"net"
	"time"
)

// giveUp is how long a peer may leave unacknowledged what was sent to it.
const giveUp = 20 * time.Second

// Listen listens on a TCP address. On Linux a connection whose peer has
// acknowledged nothing of what was sent to it for 20 s ends with ETIMEDOUT (RFC
// 5482): a peer that the network has cut off says nothing, and the system alone
// would go on sending to it for a quarter of an hour. Its connections are
// Conns.
func Listen(address string) (net.Listener, error) {
	c := net.ListenConfig{Control: limitSilence}
	l, err := c.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return watchful{l.(*net.TCPListener)}, nil
}
