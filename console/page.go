package console

import (
	"crypto/rand"
	"embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/quota"
	"tidings/realtime"
	"tidings/schema"
	"tidings/web"
)

//go:embed console.graphql
var contract embed.FS

// The bounds of the page's own connections: a few operators with some windows.
const (
	maxConnections = 64
	maxPerOperator = 16
	// maxStrangers are the sockets that have shown no token yet, which take no place
	// of the others.
	maxStrangers = 256
)

// openPage makes what answers the page.
func (c *Console) openPage() error {
	m, err := schema.Load(contract)
	if err != nil {
		return fmt.Errorf("the contract of the console: %w", err)
	}
	c.engine, err = graphql.New(m, nil, nil, graphql.Options{
		Functions: c.functions(), Logger: c.opts.Logger,
		Introspection: func(who auth.Principal) bool { return admits(who) == nil },
		Limits:        graphql.Limits{Cost: graphql.Budgets{Anonymous: 1, User: 1_000_000, Service: 1_000_000}},
	})
	if err != nil {
		return fmt.Errorf("the engine of the console: %w", err)
	}
	c.hub = realtime.NewHub(c.engine, c.opts.Verifier, realtime.Options{
		Admits: admits, InitTimeout: 5 * time.Second, MaxConnections: maxConnections, MaxPerCaller: maxPerOperator, MaxStrangers: maxStrangers,
		MaxMessage: 64 << 10, MaxOperations: 16, MaxQueue: 8 << 20, MaxMessages: 50, Logger: c.opts.Logger,
	})
	c.page = web.Console()
	return nil
}

// closePage ends the connections of the page.
func (c *Console) closePage() {
	if err := c.hub.Close(); err != nil {
		c.opts.Logger.Info("connections of the console were cut", "error", err)
	}
	c.engine.Close()
}

// Routes are the page and what feeds it, for the admin port; none without a page,
// nor of a console that is nil.
// Both are for whoever reaches the port: the page says nothing, and the rest wants
// the token of an administrator.
func (c *Console) Routes() []proc.Route {
	if c == nil || c.engine == nil {
		return nil
	}
	return []proc.Route{
		{Pattern: "GET /console", Handler: http.HandlerFunc(c.servePage), Open: true},
		{Pattern: "/console/graphql", Handler: http.NewCrossOriginProtection().Handler(http.HandlerFunc(c.serve)), Open: true},
	}
}

// servePage answers with the page, which loads nothing further. Nothing of it may
// be kept, framed, or sent elsewhere.
func (c *Console) servePage(w http.ResponseWriter, _ *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; style-src 'nonce-"+nonce+"'; script-src 'nonce-"+nonce+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = io.WriteString(w, strings.ReplaceAll(c.page, "{{nonce}}", nonce)) // the client is gone if it fails
}

// serve answers GraphQL. Who comes without a socket is looked at before anything
// else; over a socket the token comes with the first message.
func (c *Console) serve(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(quota.WithClient(r.Context(), quota.Proxies{}.Client(r)))
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		c.hub.WebSocket(w, r)
		return
	}
	who, err := c.opts.Verifier.Bearer(r.Header.Get("Authorization"))
	if err == nil && who.Anonymous() {
		err = fault.New(fault.Unauthenticated, "the console wants a token: Authorization: Bearer …")
	}
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, fault.Of(err).Message, http.StatusUnauthorized)
		return
	}
	if err := admits(who); err != nil {
		http.Error(w, fault.Of(err).Message, http.StatusForbidden)
		return
	}
	c.hub.Wrap(c.engine).ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), who)))
}
