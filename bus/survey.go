package bus

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Survey is what can be seen of the servers over a connection.
type Survey struct {
	// Servers is how many there are in the cluster, as far as they tell; 1 without
	// a cluster.
	Servers int
	// Version is that of the server of this connection.
	Version string
	// Replicas of the log.
	Replicas int
}

// Survey looks at the servers. How often they force what they store to the disk,
// they do not tell.
func (b *Bus) Survey(ctx context.Context) (Survey, error) {
	s := Survey{Servers: 1, Version: b.nc.ConnectedServerVersion()}
	state, err := b.state(ctx)
	if err != nil {
		return s, err
	}
	s.Replicas = state.replicas
	if b.server == nil && b.nc.ConnectedClusterName() != "" {
		s.Servers = countServers(strings.Split(b.opts.URL, ","), b.nc.DiscoveredServers())
	}
	return s, nil
}

// countServers counts the servers of a cluster. They tell their addresses by
// number, which are the same servers as those that were given by name.
func countServers(given, discovered []string) int {
	byNumber := 0
	for _, raw := range given {
		if !strings.Contains(raw, "://") {
			raw = "nats://" + raw
		}
		u, err := url.Parse(strings.TrimSpace(raw))
		if err == nil && net.ParseIP(u.Hostname()) != nil {
			byNumber++
		}
	}
	return max(len(given), byNumber+len(discovered))
}

// oldest is the version of nats-server that the log needs: for atomic batches.
const oldestMajor, oldestMinor = 2, 12

// tooOld reports whether a server lacks what the log needs. One whose version
// cannot be read is not.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	if err != nil {
		return false
	}
	b, err := strconv.Atoi(minor)
	return err == nil && (a < oldestMajor || a == oldestMajor && b < oldestMinor)
}
