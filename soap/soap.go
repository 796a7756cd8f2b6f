// Package soap speaks the service's operations in XML, at both ends of the bus.
//
// Gateway is the edge: it prints the WSDL and hands envelopes, unread, to the
// bus. Service is the worker's end: it reads an envelope, finds out who calls,
// runs the GraphQL document that stands behind the operation and writes the
// answer or a fault. So an envelope is parsed in one process only, and never in
// the one that holds connections.
//
// The room does not know how an operation is planned or a record stored: each
// SOAP operation is one stored GraphQL document run by graphql.Engine, with the
// same authorization, limits and errors. XML itself is read by xmltree.
//
// Specifications: SOAP 1.1 and 1.2 (Part 1), WSDL 1.1, XML Schema 1.0, WS-I
// Basic Profile 1.1, OASIS Web Services Security 1.1 UsernameToken Profile (what
// else stands in wsse:Security is wssec's), WS-Addressing 1.0 (Core, SOAP and WSDL
// Binding) and 2004/08, HTTP Basic (RFC 7617) and Bearer (RFC 6750).
package soap

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"tidings/bus"
	"tidings/internal/proc"
	"tidings/job"
	"tidings/quota"
	"tidings/wssec"
	"tidings/xmltree"
)

// Options configure both ends. The zero value is complete for a Service whose
// name is the default; a Gateway needs Address too.
type Options struct {
	// Service is the service's name in the WSDL and in the path; default
	// SocialService. Letters, digits and underscores, a letter first.
	Service string
	// Version is the path segment and the bus token of the contract that the
	// schema makes, unless Locks has one for it; default that of the newest lock,
	// v1 without any.
	Version string
	// Namespace is the target namespace of that contract; default
	// urn:tidings:<Version>:<Service>. Both ends must agree on it.
	Namespace string
	// Locks are the versions that were published. Each is served as it was.
	Locks []*Lock
	// Address is the public base URL, such as https://api.example.com. The WSDL
	// names it, and clients take it literally; it is never taken from a request.
	Address string
	// Addresses are other base URLs by which callers know the service, or names that
	// are no URLs: a wsa:To that is signed must be of one of them, or of Address.
	// AnyAddress among them: it may say anything. Schemes and ports do not count.
	Addresses []string
	// TrustTransport says that passwords may come over a connection on which
	// this process sees no TLS: because a proxy ends it in front, or because it
	// is development. Otherwise a UsernameToken over plain HTTP is refused.
	TrustTransport bool
	// Shown returns the certificates that the sender of a request has shown, its
	// own first; nil means those of the TLS connection that a Gateway sees. An
	// error is answered with 400.
	Shown func(r *http.Request) ([]*x509.Certificate, error)
	// Admit is asked by a Gateway before it sends an envelope on; leave is called
	// when that is answered, and an error is the answer. nil: all are sent.
	Admit func(ctx context.Context) (leave func(), err error)
	// Concurrency bounds the envelopes that one Service works on at a time;
	// default 64.
	Concurrency int
	// MaxEnvelope is how many bytes an envelope may have, as it comes and unpacked;
	// default xmltree.MaxBytes, 1 MiB, and at most 16 MiB.
	MaxEnvelope int
	// SOAPAction is what SOAPAction must say; default ActionMatch.
	SOAPAction ActionRule
	// Partial is how errors below a result are told; empty: in a header of the
	// answer to a mutation, by a fault for a query.
	Partial PartialRule
	// Ready is closed when reads have caught up with the log for the first time:
	// that of the feed. Service.Run takes no envelope before. nil means at once.
	Ready <-chan struct{}
	// WaitFor returns when reads show the log up to seq: the WaitFor of the
	// engine's resource.Client. With it a query shows every change that was
	// answered before it was sent, whichever worker gets it; nil means that
	// queries may lag.
	WaitFor func(ctx context.Context, seq uint64) error
	// Quota counts wrong passwords for a Service; nil counts none.
	Quota *quota.Limiter
	// Replays tells a Service which messages have come before; nil refuses those
	// that must not come twice with UNAVAILABLE.
	Replays *Replays
	// Keys are those that messages to a Service may be encrypted for; none: encrypted
	// messages are refused. The first signs the answers to messages that were signed;
	// none: nobody does. Others may take their place at any time.
	Keys *wssec.Keys
	// Jobs keeps what is submitted to be carried out in the background; nil refuses it.
	Jobs *job.Jobs
	// Undelivered remembers for a Gateway which answers did not reach their
	// callers; nil remembers nothing.
	Undelivered *Undelivered
	// Patience is the Gateway's with workers that are away; nil: none.
	Patience *bus.Patience
	// Metrics count calls; nil: nothing does.
	Metrics *proc.Metrics
	// Logger gets failures of ours with their request id; nil is silent.
	// Passwords, tokens and envelopes are never logged.
	Logger *slog.Logger
}

// maxEnvelope bounds Options.MaxEnvelope.
const maxEnvelope = 16 << 20

func (o Options) withDefaults() (Options, error) {
	if newest := len(o.Locks) - 1; newest >= 0 {
		o.Service = cmp.Or(o.Service, o.Locks[newest].Service)
		o.Version = cmp.Or(o.Version, o.Locks[newest].Version)
	}
	o.Service, o.Version = cmp.Or(o.Service, "SocialService"), cmp.Or(o.Version, "v1")
	for what, s := range map[string]string{"service name": o.Service, "version": o.Version} {
		if !plainName(s) {
			return o, fmt.Errorf("soap: %s %q: use letters, digits and underscores, a letter first", what, s)
		}
	}
	if o.Namespace == "" {
		o.Namespace = "urn:tidings:" + o.Version + ":" + o.Service
	}
	if strings.ContainsAny(o.Namespace, " \t\r\n<>\"") {
		return o, fmt.Errorf("soap: namespace %q: use a URI without spaces and quotes", o.Namespace)
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 64
	}
	if o.SOAPAction == "" {
		o.SOAPAction = ActionMatch
	}
	if err := o.checkRules(); err != nil {
		return o, err
	}
	if o.MaxEnvelope <= 0 {
		o.MaxEnvelope = xmltree.MaxBytes
	}
	o.MaxEnvelope = min(o.MaxEnvelope, maxEnvelope)
	if o.Shown == nil {
		o.Shown = shownOnConnection
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// base is the public base URL.
func (o Options) base() (string, error) {
	if !strings.HasPrefix(o.Address, "http://") && !strings.HasPrefix(o.Address, "https://") {
		return "", errors.New("soap: Address is missing: set it to the public URL, such as https://api.example.com")
	}
	return strings.TrimRight(o.Address, "/"), nil
}

func plainName(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
