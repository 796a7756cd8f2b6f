package live

import (
	"net/http"
	"strings"

	"github.com/Khan/genqlient/graphql"
)

// Clients are genqlient's: one for queries and mutations, and one for subscriptions,
// which is to be started.
func Clients(url, token string) (graphql.Client, graphql.WebSocketClient) {
	http := &http.Client{Transport: bearer(token)}
	params := graphql.WithConnectionParams(map[string]any{"authToken": token})
	return graphql.NewClient(url, http), graphql.NewClientUsingWebSocket(strings.Replace(url, "http", "ws", 1), &Dialer{}, params)
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
