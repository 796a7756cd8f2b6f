package soap

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"tidings/fault"
	"tidings/job"
)

// Jobs are written by the types of the contract, as results of GraphQL are: as
// JSON whose members have the names and the order of the types.

func encodeStatus(s job.Status) []byte {
	return encoded(struct {
		ID         string    `json:"jobId"`
		Operation  string    `json:"operation"`
		State      job.State `json:"state"`
		Reason     *string   `json:"reason"`
		Done       int       `json:"done"`
		Failed     int       `json:"failed"`
		Total      int       `json:"total"`
		Pages      int       `json:"pages"`
		Ready      int       `json:"pagesReady"`
		Submitted  time.Time `json:"submittedAt"`
		Updated    time.Time `json:"updatedAt"`
		RetryAfter *int      `json:"retryAfterSeconds"`
	}{s.ID, s.Kind, s.State, given(s.Reason), s.Done, s.Failed, s.Total, s.Pages, s.Ready, s.Submitted, s.Updated, given(s.RetryAfter)})
}

// given is nil for what is not there.
func given[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("soap: what is told of a job cannot be encoded: " + err.Error()) // it came by JSON
	}
	return raw
}

// otherContract is the code of a record that this version of the contract cannot
// show.
const otherContract fault.Code = "OTHER_CONTRACT"

// page writes a page of results, and says which records are left out because they
// were stored when the contract was another one, or by another version.
func (c *contract) page(op *operation, p job.Page) (page []byte, left []resultError) {
	items := make([]json.RawMessage, len(p.Outcomes))
	t := op.result.typ.fields[len(op.result.typ.fields)-1].typ.item.typ
	for i, o := range p.Outcomes {
		record := c.jobRecord(p.Kind, o)
		if record == nil && o.Result != nil {
			e := resultError{place: "items[" + strconv.Itoa(i) + "]", Message: "the item was carried out, but its record was stored by another version of the contract, or before the contract was changed: ask that version for it, or read the record by itself"}
			e.Extensions.Code = otherContract
			left = append(left, e)
		}
		items[i] = jobItem(t, record, p.First+i, o)
	}
	return encoded(struct {
		ID    string            `json:"jobId"`
		State job.State         `json:"state"`
		Page  int               `json:"page"`
		Pages int               `json:"pages"`
		Items []json.RawMessage `json:"items"`
	}{p.ID, p.State, p.Number + 1, p.Pages, items}), left
}

// jobRecord is the type of the record of an outcome; nil where there is none, or
// none that the contract can show.
func (c *contract) jobRecord(kind string, o job.Outcome) *xsdType {
	submit := c.byName[kind]
	if submit == nil || submit.kind != kindSubmit || o.Result == nil {
		return nil
	}
	record := submit.batch.one.result.typ
	if _, err := record.append(nil, &jsonReader{data: o.Result}); err != nil {
		return nil
	}
	return record
}

// jobItem writes what came of an item, with its record if that has a type.
func jobItem(t, record *xsdType, index int, o job.Outcome) json.RawMessage {
	members := map[string][]byte{
		"index":   fmt.Append(nil, index),
		"success": fmt.Append(nil, o.Error == nil),
		refName:   encoded(given(o.Ref)),
	}
	if o.Error != nil {
		members["error"] = encoded(struct {
			Code    fault.Code `json:"code"`
			Message string     `json:"message"`
			Path    *string    `json:"path"`
		}{o.Error.Code, o.Error.Message, given(o.Error.Field)})
	}
	if record != nil {
		members[jobRecordName(record)] = o.Result
	}
	out := []byte{'{'}
	for i, f := range t.fields {
		if i > 0 {
			out = append(out, ',')
		}
		value := members[f.name]
		if value == nil {
			value = []byte("null")
		}
		out = append(fmt.Appendf(out, "%q:", f.name), value...)
	}
	return append(out, '}')
}
