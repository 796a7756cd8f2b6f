package soap

import (
	"encoding/json"
	"fmt"
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

// page writes a page of results.
func (c *contract) page(op *operation, p job.Page) []byte {
	items := make([]json.RawMessage, len(p.Outcomes))
	t := op.result.typ.fields[len(op.result.typ.fields)-1].typ.item.typ
	for i, o := range p.Outcomes {
		items[i] = c.jobItem(t, p.Kind, p.First+i, o)
	}
	return encoded(struct {
		ID    string            `json:"jobId"`
		State job.State         `json:"state"`
		Page  int               `json:"page"`
		Pages int               `json:"pages"`
		Items []json.RawMessage `json:"items"`
	}{p.ID, p.State, p.Number + 1, p.Pages, items})
}

// jobItem writes what came of an item. A record that was stored when the contract
// was another one is left out.
func (c *contract) jobItem(t *xsdType, kind string, index int, o job.Outcome) json.RawMessage {
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
	if submit := c.byName[kind]; submit != nil && submit.kind == kindSubmit && o.Result != nil {
		record := submit.batch.one.result.typ
		if _, err := record.append(nil, &jsonReader{data: o.Result}); err == nil {
			members[jobRecordName(record)] = o.Result
		}
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
