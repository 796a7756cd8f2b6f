package soap

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"tidings/bus"
	"tidings/graphql"
	"tidings/schema"
)

// newContracts returns the contracts of all versions, the oldest first: those
// that are locked, and what the schema makes where the version has no lock. The
// error says where the schema no longer holds what a lock promises.
func newContracts(m *schema.Model, o Options) ([]*contract, error) {
	var contracts []*contract
	var errs []error
	locked := false
	for _, l := range o.Locks {
		if l.Service != o.Service {
			errs = append(errs, fmt.Errorf("soap: %s is a version of %s, but this service is called %s: name it by --service %s", l.File(), l.Service, o.Service, l.Service))
		}
		for _, b := range l.Check(m) {
			errs = append(errs, b)
		}
		locked = locked || l.Version == o.Version
		c, err := l.file.contract() // which the options of this service change
		if err != nil {
			return nil, err
		}
		c.rule = o.SOAPAction
		for _, op := range c.operations {
			op.headed = o.headed(op)
		}
		contracts = append(contracts, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if !locked {
		c, err := newContract(m, o)
		if err != nil {
			return nil, err
		}
		c.preview = len(o.Locks) > 0
		contracts = append(contracts, c)
	}
	slices.SortStableFunc(contracts, func(a, b *contract) int { return number(a.version) - number(b.version) })
	return contracts, nil
}

// Verify says why the schema gives no contract that the engine could serve: two
// names that are one in XML, or a stored operation that cannot be run. A version
// that is locked needs none; whether it is held Lock.Check says.
func Verify(m *schema.Model, e *graphql.Engine, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(o.Locks, func(l *Lock) bool { return l.Version == o.Version }) {
		return nil
	}
	c, err := newContract(m, o)
	if err != nil {
		return err
	}
	return c.runs(e)
}

// path is where the contract's version is called.
func (c *contract) path() string { return "/" + c.version + "/" + c.service }

// runs reports an operation that the engine cannot run.
func (c *contract) runs(e *graphql.Engine) error {
	for _, op := range c.operations {
		if op.document == "" {
			continue
		}
		if err := e.Check(op.document); err != nil {
			return fmt.Errorf("soap: the operation %s of %s cannot be run: %w", op.name, c.version, err)
		}
	}
	return nil
}

// as is the service for the envelopes of one version. It shares all bounds.
func (s *Service) as(c *contract) *Service {
	v := *s
	v.contract, v.versions, v.fingerprint = c, nil, c.fingerprint()
	return &v
}

// endpoints are where envelopes come in, one for each version.
func (s *Service) endpoints() []bus.Endpoint {
	var list []bus.Endpoint
	for _, v := range s.versions {
		list = append(list, bus.Endpoint{
			Name:    v.contract.service + "-" + v.contract.version,
			Subject: s.bus.Subjects().SOAP(v.contract.version, v.contract.service),
			Handle:  v.handle,
		})
	}
	return list
}

// offer is what a gateway knows of a version.
type offer struct {
	version, namespace, path string
	preview                  bool
	wsdls                    [2]document // by version of SOAP: with the port of 1.1 alone, and with both
}

func (g *Gateway) newOffer(c *contract, base string) offer {
	o := offer{version: c.version, namespace: c.namespace, path: c.path(), preview: c.preview}
	for v := range o.wsdls {
		text := c.wsdl(base+c.path(), version(v) == soap12)
		sum := sha256.Sum256(text)
		doc := document{text: text, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
		if packed, smaller := g.packer.pack(text); smaller {
			doc.gzip = packed
		}
		o.wsdls[v] = doc
	}
	return o
}

// offer returns the version that a request is for: the newest where its path names none.
func (g *Gateway) offer(r *http.Request) *offer {
	if i := slices.IndexFunc(g.offers, func(o offer) bool { return o.path == r.URL.Path }); i >= 0 {
		return &g.offers[i]
	}
	return g.newest()
}

// newest returns the newest version. One that is still being made, beside others
// that were published, does not count.
func (g *Gateway) newest() *offer {
	for i := range slices.Backward(g.offers) {
		if !g.offers[i].preview {
			return &g.offers[i]
		}
	}
	return nil // not reached: a preview stands beside a lock
}

// Paths are the URL paths to serve: that of each version, the oldest first, and
// the one without version, which means the newest. After a reload there may be
// others.
func (g *Gateway) Paths() []string {
	var paths []string
	for _, o := range g.offers {
		paths = append(paths, o.path)
	}
	return append(paths, "/"+g.options.Service)
}

// Serves reports whether a URL path is one of Paths.
func (g *Gateway) Serves(path string) bool { return slices.Contains(g.Paths(), path) }

// Path is the URL path of the newest version.
func (g *Gateway) Path() string { return g.newest().path }

// Namespace is the target namespace of the newest version.
func (g *Gateway) Namespace() string { return g.newest().namespace }
