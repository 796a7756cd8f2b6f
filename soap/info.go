package soap

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// The operation that tells about the service itself. It asks nobody who they are:
// it is there for partners who find out why they are refused, and by how much their
// clock is wrong.

const (
	infoName = "GetServiceInfo"
	infoType = "ServiceInfo"
)

// info declares the operation. It is nil where the schema has those names for
// something of its own.
func (b *builder) info(taken []*operation) *operation {
	if len(b.types[infoType]) > 0 {
		return nil
	}
	for _, op := range taken {
		if op.name == infoName {
			return nil
		}
	}
	t, _ := b.declare(&xsdType{name: infoType, origin: "what the service says of itself", form: formObject, fields: []*part{
		{name: "service", doc: "Name of the service.", typ: b.leaf("String")},
		{name: "version", doc: "Version of the contract.", typ: b.leaf("String")},
		{name: "contract", doc: "Fingerprint of the contract: another one means that the WSDL has changed.", typ: b.leaf("String")},
		{name: "time", doc: "The service's clock, which the Timestamp of a message is held against.", typ: b.leaf("DateTime")},
	}})
	return &operation{
		name: infoName, kind: kindInfo, result: &part{name: resultName, typ: t},
		doc: "What is served, and what time it is there. It needs no credentials, and looks at none.",
	}
}

// fingerprint tells contracts apart, wherever they are served.
func (c *contract) fingerprint() string {
	sum := sha256.Sum256(c.wsdl("", true))
	return hex.EncodeToString(sum[:12])
}

// runInfo carries out the operation of kindInfo.
func (s *Service) runInfo(ctx context.Context, op *operation, r *request) ([]byte, *failure) {
	now := time.Now()
	if _, f := r.readSecurity(now); f == nil { // for the Timestamp that the answer to one has
		if who, f := s.proved(ctx, r, now); f == nil && !who.Anonymous() { // for its signature, which costs us one
			_ = s.options.Quota.Request(ctx, who.Principal)
		}
	}
	if _, err := s.contract.variables(op, r.payload); err != nil {
		return nil, failed(err)
	}
	c := s.contract
	out := beginBody(make([]byte, 0, 1024), r.version, c.namespace, r.addressing.appendReply(r.echo, c.defaultAction(op.name+"Response")))
	out = append(out, "<tns:"+infoName+"Response><tns:"+resultName+">"...)
	out = appendElement(out, "service", c.service)
	out = appendElement(out, "version", c.version)
	out = appendElement(out, "contract", s.fingerprint)
	out = appendElement(out, "time", now.UTC().Format("2006-01-02T15:04:05.000Z"))
	return append(out, "</tns:"+resultName+"></tns:"+infoName+"Response></soap:Body></soap:Envelope>"...), nil
}
