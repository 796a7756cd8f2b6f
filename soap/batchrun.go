package soap

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/xmltree"
)

// notDone is the code of an item that was not carried out because of another.
const notDone fault.Code = "NOT_DONE"

// outcome is what became of one item.
type outcome struct {
	root []byte        // the JSON of the record; nil when it is not told
	err  *failure      // nil: it was carried out
	left []resultError // errors below the record
}

// runBatch carries out an operation of kindBatch. Items that cannot be read have
// their errors, and the others are carried out, unless it is all or none.
func (s *Service) runBatch(ctx context.Context, who auth.Principal, op *operation, r *request) ([]byte, *failure) {
	call, err := s.contract.readBatch(op, r.payload)
	if err != nil {
		return nil, failed(err)
	}
	outcomes := make([]outcome, len(call.items))
	asked := graphql.Many{Request: graphql.Request{Query: op.one.document, Trusted: true}, Together: call.together}
	if f := s.identify(r, &asked.Request); f != nil {
		return nil, f
	}
	var places []int // of what is asked, among the items
	for i, item := range call.items {
		if item.err != nil {
			outcomes[i].err = failed(item.err)
			continue
		}
		places = append(places, i)
		asked.Variables = append(asked.Variables, item.variables)
	}
	undone := call.together && len(places) < len(call.items)
	if !undone && len(places) > 0 {
		answers := s.engine.ExecuteMany(ctx, who, asked)
		if answers.Refused != nil {
			return nil, refusedWhole(*answers.Refused, r)
		}
		undone = answers.Undone
		for n, i := range places {
			if outcomes[i], err = op.one.outcome(answers.Items[n]); err != nil {
				return nil, failed(err)
			}
		}
	}
	r.refused = slices.ContainsFunc(outcomes, func(o outcome) bool { return o.err != nil })
	if undone {
		rollBack(outcomes)
	}
	out, err := s.contract.batchAnswer(op, r, call, outcomes, s.bus.MaxPayload()-answerRoom)
	if err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// refusedWhole is the fault of a batch of which no item is to blame.
func refusedWhole(response graphql.Response, r *request) *failure {
	res, err := readResult(response.Body)
	if err != nil || len(res.errors) == 0 {
		return failed(fmt.Errorf("a refusal without a reason: %w", err))
	}
	return r.explained(res.errors[0].failure())
}

// outcome reads what became of an item; no body means that it was not asked for
// in the end.
func (op *operation) outcome(body json.RawMessage) (outcome, error) {
	if body == nil {
		return outcome{}, nil
	}
	res, err := op.read(body)
	if err != nil {
		return outcome{}, err
	}
	f, left := op.verdict(res)
	if f != nil {
		f.Error = withoutInput(f.Error)
	}
	return outcome{root: res.root, err: f, left: left}, nil
}

// withoutInput lets the path of an item's error begin at the item.
func withoutInput(f *fault.Error) *fault.Error {
	rest, ok := strings.CutPrefix(f.Field, "input")
	if !ok || rest != "" && rest[0] != '.' {
		return f
	}
	copied := *f
	copied.Field = strings.TrimPrefix(rest, ".")
	return &copied
}

// rollBack says of the items without an error that they were not carried out.
func rollBack(outcomes []outcome) {
	culprit := 0
	for outcomes[culprit].err == nil {
		culprit++
	}
	why := &failure{Error: &fault.Error{Code: notDone, Message: fmt.Sprintf("not carried out, because item %d cannot be and all were to be or none", culprit)}}
	for i := range outcomes {
		if outcomes[i].err == nil {
			outcomes[i] = outcome{err: why}
		}
	}
}

const (
	// answerRoom is what the envelope around the items may take, and the headers
	// of the bus.
	answerRoom = 16 << 10
	// itemRoom is kept for each item that is still to be written, without its
	// record.
	itemRoom = 2 << 10
)

// batchAnswer writes the envelope that answers a batch. It has at most the given
// size: records that have no room are left out.
func (c *contract) batchAnswer(op *operation, r *request, call *batchCall, outcomes []outcome, limit int) ([]byte, error) {
	var left []resultError
	items := make([]byte, 0, 256+512*len(outcomes))
	for i, o := range outcomes {
		for _, e := range o.left {
			e.place = "item[" + strconv.Itoa(i) + "]"
			left = append(left, e)
		}
		before := len(items)
		var err error
		if items, err = op.appendItem(items, i, call.items[i], o); err != nil {
			return nil, err
		}
		if len(items) > limit-itemRoom*(len(outcomes)-i-1) && o.root != nil {
			o.root = nil
			if items, err = op.appendItem(items[:before], i, call.items[i], o); err != nil {
				return nil, err
			}
		}
	}
	header := r.addressing.appendReply(r.echo, c.defaultAction(op.name+"Response"))
	if len(left) > 0 {
		header = appendErrors(header, left[:min(len(left), maxLeft)])
	}
	out := beginBody(make([]byte, 0, 1024+len(items)), r.version, c.namespace, header)
	out = append(append(append(out, "<tns:"...), op.name...), "Response><tns:result>"...)
	out = append(append(append(out, items...), "</tns:result></tns:"...), op.name...)
	return append(out, "Response></soap:Body></soap:Envelope>"...), nil
}

// maxLeft bounds the errors below records that one answer lists.
const maxLeft = 50

// appendItem writes the result of one item, as batchResults describes it.
func (op *operation) appendItem(out []byte, i int, item batchItem, o outcome) ([]byte, error) {
	out = appendElement(append(out, "<tns:item>"...), "index", strconv.Itoa(i))
	out = appendElement(out, "success", strconv.FormatBool(o.err == nil))
	record := op.result.typ.item.typ.fields[recordField]
	if item.hasRef {
		out = appendElement(out, refName, item.ref)
	} else {
		out = append(out, "<tns:"+refName+` xsi:nil="true"/>`...)
	}
	if o.root != nil && o.err == nil {
		var err error
		if out, err = record.append(out, &jsonReader{data: o.root}); err != nil {
			return nil, fmt.Errorf("encode an item of %s: %w", op.name, err)
		}
	}
	if o.err != nil {
		out = o.err.appendItemError(out)
	}
	return append(out, "</tns:item>"...), nil
}

// appendItemError writes why an item was not carried out, as batchError
// describes it.
func (f *failure) appendItemError(out []byte) []byte {
	out = appendElement(append(out, "<tns:error>"...), "code", string(f.Code))
	out = append(xmltree.AppendText(append(out, "<tns:message>"...), f.Message), "</tns:message>"...)
	if f.Field != "" {
		out = appendElement(out, "path", f.Field)
	} else {
		out = append(out, `<tns:path xsi:nil="true"/>`...)
	}
	return append(out, "</tns:error>"...)
}
