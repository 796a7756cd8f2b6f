package boot

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"tidings/schema"
	"tidings/soap"
)

// Locks are the published versions of the SOAP service, which lie beside the
// schema. There may be none.
func (c Config) Locks() ([]*soap.Lock, error) {
	locks, err := soap.ReadLocks(os.DirFS(c.Schema))
	if err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	return locks, nil
}

// LockSOAP is the shape that the schema gives the SOAP service, as a version.
func (c Config) LockSOAP(m *schema.Model, version string) (*soap.Lock, error) {
	return soap.NewLock(m, version, soap.Options{Service: c.ServiceName()})
}

// warnOfLocks says what a start outside of development should not be without.
func (r *Rooms) warnOfLocks(ctx context.Context) {
	c := r.config
	locks, err := c.Locks()
	if c.Dev || err != nil || len(locks) > 0 {
		return // an error is told where the edition is built
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the shape that partners of SOAP see is not locked, so that a change of the schema can break their programs: write it down by `"+c.program+" soap lock --schema "+c.Schema+"`")
	if c.Service == "" {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the SOAP service is called after the schema's directory: name it by TIDINGS_SERVICE, so that another directory does not change the contract of its partners", slog.String("service", c.ServiceName()))
	}
}

// soapAddresses are those by which callers of SOAP know the service, beside the
// public URL.
func (c Config) soapAddresses() []string {
	return strings.FieldsFunc(c.SOAPTo, func(r rune) bool { return r == ',' || r == ' ' })
}
