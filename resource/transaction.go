package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
)

// Change is one part of a transaction: what Command says of the same names.
type Change struct {
	Type  string          `json:"type"`
	Verb  Verb            `json:"verb"`
	Input json.RawMessage `json:"input"`
	// Refs are members of the input that get the id of a record which the
	// transaction creates: the keys of relations, each with the place of an earlier
	// change. Nil: none.
	Refs map[string]int `json:"refs,omitempty"`
}

// Transaction asks for changes of records of any types that happen together or
// not at all. Each is decided, and each must be allowed, as a command by itself;
// but one may take a unique value that another gives back. A record may be
// changed once. What they come to must fit into one batch of the log
// (bus.MaxEntries: one message for each record, and one for each unique value
// that is taken or given back).
type Transaction struct {
	Who     auth.Principal
	Changes []Change
	// ID names the transaction; the change at place i stands in the log under
	// CommandID(ID, i). Empty: Transact makes one.
	ID string
	// Once makes a transaction that is sent again harmless; nil for those that
	// are not.
	Once *Once
}

// ItemError says on whose account a transaction failed. It wraps the cause, a
// fault, which errors.As finds.
type ItemError struct {
	Index int // among the changes
	Cause error
}

func (e *ItemError) Error() string { return fmt.Sprintf("change %d: %v", e.Index, e.Cause) }
func (e *ItemError) Unwrap() error { return e.Cause }

// CommandID is the id under which a transaction's change at place i stands in
// the log.
func CommandID(transaction string, i int) string { return fmt.Sprintf("%s-%d", transaction, i) }

// maxTransactionID leaves room for the place.
const maxTransactionID = 60

func validTransactionID(id string) bool { return validCommandID(id) && len(id) <= maxTransactionID }

var errTransactionID = fault.New(fault.BadRequest, "the transaction's id must be of 1 to %d letters, digits, - and _", maxTransactionID)

// Transact sends a transaction to a worker and returns the records, in the order
// of the changes, after the log has acknowledged all of them; for Delete the
// record as it was. None of the changes has happened when the error is an
// *ItemError, which names the change that cannot be made with the faults of
// Submit, or a fault other than Timeout: BadRequest (no changes, a malformed id),
// BadUserInput (too many messages), PayloadTooLarge (for the bus, as a request or
// as an answer), Unavailable, Conflict. After a Timeout it may have been carried
// out. Readers of the view may see the changes one after another for a moment.
func (c *Client) Transact(ctx context.Context, t Transaction) ([]Record, error) {
	named := t.ID != ""
	if !named {
		t.ID = newID()
	}
	answered := c.sent(verbTransaction)
	records, done, err := c.transactHere(ctx, t)
	if !done {
		records, err = c.transactThere(ctx, t, named)
	}
	answered(err)
	if err != nil {
		return nil, err
	}
	last := uint64(0)
	for _, r := range records {
		last = max(last, r.Seq)
	}
	c.settle(ctx, last)
	return records, nil
}

// transactHere carries out a transaction unless there is no free worker here.
func (c *Client) transactHere(ctx context.Context, t Transaction) (records []Record, done bool, err error) {
	w := c.here
	if w == nil || !w.begin() {
		return nil, false, nil
	}
	defer w.end()
	ctx, cancel := untilDone(ctx)
	defer cancel()
	records, err = w.CarryAll(ctx, t)
	return records, true, faultOrItem(err)
}

// faultOrItem is err as it would come over the bus.
func faultOrItem(err error) error {
	if err == nil {
		return nil
	}
	if item, ok := errors.AsType[*ItemError](err); ok {
		return &ItemError{Index: item.Index, Cause: fault.Of(item.Cause)}
	}
	return fault.Of(err)
}

func (c *Client) transactThere(ctx context.Context, t Transaction, named bool) ([]Record, error) {
	m, err := c.persist(ctx, c.bus.Subjects().Transaction(), named, t.Once, func(once *Once) any {
		return transactionRequest{ID: t.ID, Who: t.Who, Changes: t.Changes, Once: once}
	})
	if err != nil {
		return nil, err
	}
	var r transactionReply
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return nil, fmt.Errorf("decode the worker's reply: %w", err)
	}
	if r.Failed != nil {
		return nil, c.itemError(t, *r.Failed)
	}
	if len(r.Records) != len(t.Changes) {
		return nil, fmt.Errorf("the worker answered %d changes with %d records", len(t.Changes), len(r.Records))
	}
	records := make([]Record, len(r.Records))
	for i, one := range r.Records {
		records[i] = Record{Raw: one.Record, Seq: one.Seq}
	}
	return records, nil
}

// itemError reads on whose account a transaction failed.
func (c *Client) itemError(t Transaction, failed transactionFault) error {
	cause := &failed.Error
	if failed.Index < 0 || failed.Index >= len(t.Changes) || !cause.Code.Known() {
		return fault.Wrap(fmt.Errorf("the worker answered with a fault at %d: %w", failed.Index, cause), fault.Internal, "internal error")
	}
	one := t.Changes[failed.Index]
	if cause.Message == noResource(one.Type).Message && c.model.Resource(one.Type) != nil {
		cause = fault.Wrap(cause, fault.Unavailable, "the worker that was asked has another schema, without %s; nothing was changed: try again when all processes have the same schema", one.Type)
	}
	return &ItemError{Index: failed.Index, Cause: c.stranger(Command{Type: one.Type, Verb: one.Verb, Input: one.Input, Who: t.Who}, cause)}
}

// transactionRequest and transactionReply are the payloads of a transaction on
// the bus (docs/bus.md).
type transactionRequest struct {
	ID      string         `json:"id"`
	Who     auth.Principal `json:"who"`
	Changes []Change       `json:"changes"`
	Once    *Once          `json:"once,omitempty"`
}

type transactionReply struct {
	Records []reply           `json:"records,omitempty"`
	Failed  *transactionFault `json:"failed,omitempty"`
}

type transactionFault struct {
	Index int `json:"index"`
	fault.Error
}

// transact answers a transaction that came over the bus.
func (w *Worker) transact(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
	var q transactionRequest
	if err := json.Unmarshal(m.Data, &q); err != nil {
		return nil, nil, fault.Wrap(err, fault.BadRequest, "the transaction is not of the form that docs/bus.md describes")
	}
	records, err := w.CarryAll(ctx, Transaction{Who: q.Who, Changes: q.Changes, ID: q.ID, Once: q.Once})
	var answer transactionReply
	var h bus.Header
	if item, ok := errors.AsType[*ItemError](err); ok {
		answer.Failed = &transactionFault{Index: item.Index, Error: *fault.Of(item.Cause)}
		h = bus.Header{bus.HeaderRefused: {"1"}}
	} else if err != nil {
		return nil, nil, err
	}
	for _, r := range records {
		answer.Records = append(answer.Records, reply{Record: r.Raw, Seq: r.Seq})
	}
	body, err := encodeValue(answer)
	return body, h, err
}
