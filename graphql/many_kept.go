package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"tidings/fault"
)

// kept is what the store keeps of answers. Where they are too large those without
// errors are left out: they can be made again from the log, as one that was
// refused cannot.
func (b *many) kept(a Answers) []byte {
	body := a.encode(false)
	if len(body) <= maxKeptAnswer || a.Refused != nil || a.Undone {
		return body
	}
	a.Items = slices.Clone(a.Items)
	for i := range a.Items {
		if b.whole[i] {
			a.Items[i] = nil
		}
	}
	return a.encode(true)
}

// again returns the answers that are kept, those that were left out as the log
// tells them.
func (b *many) again(ctx context.Context, kept *entry) Answers {
	answers, left := readAnswers(kept.body)
	if !left || len(answers.Items) != len(b.ops) {
		return answers
	}
	for i, item := range answers.Items {
		switch {
		case item != nil:
			b.items[i], b.ops[i] = item, nil
		case b.ops[i] == nil && b.asked.Together:
			return Answers{Refused: b.engine.refusal(ctx, errUnknown)}
		case b.ops[i] == nil: // the schema is another one
			b.items[i] = b.engine.refusal(ctx, errUnknown).Body
		}
	}
	b.claim = &claim{again: true, entry: *kept}
	answers = b.run(ctx)
	answers.Replayed = true
	return answers
}

// keptAnswers are Answers as the store keeps them.
type keptAnswers struct {
	Refused json.RawMessage   `json:"refused,omitempty"`
	Items   []json.RawMessage `json:"items,omitempty"`
	Undone  bool              `json:"undone,omitempty"`
	Left    bool              `json:"left,omitempty"` // items that are null were carried out
}

func (a Answers) encode(left bool) []byte {
	size := 64
	for _, item := range a.Items {
		size += len(item) + 8
	}
	out := append(make([]byte, 0, size), `{"items":[`...)
	for i, item := range a.Items {
		if i > 0 {
			out = append(out, ',')
		}
		if item == nil {
			item = json.RawMessage("null")
		}
		out = append(out, item...)
	}
	out = strconv.AppendBool(append(out, `],"undone":`...), a.Undone)
	if a.Refused != nil {
		out = append(append(out, `,"refused":`...), a.Refused.Body...)
	}
	if left {
		out = append(out, `,"left":true`...)
	}
	return append(out, '}')
}

func readAnswers(body []byte) (a Answers, left bool) {
	var kept keptAnswers
	if err := json.Unmarshal(body, &kept); err != nil { // the store holds valid JSON
		return Answers{Refused: &Response{Body: body, Failed: true, Code: fault.Internal}}, false
	}
	a = Answers{Items: kept.Items, Undone: kept.Undone, Replayed: true}
	for i, item := range a.Items {
		if bytes.Equal(item, []byte("null")) {
			a.Items[i] = nil
		}
	}
	if kept.Refused != nil {
		a.Refused = &Response{Body: kept.Refused, Failed: true}
	}
	return a, kept.Left
}
