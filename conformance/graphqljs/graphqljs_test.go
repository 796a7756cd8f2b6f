//go:build conformance

package graphqljs_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestTheSameAsGraphQLJS runs the documents of testdata/documents.txtar on both
// sides, in their order: the mutations among them change both sides' records.
func TestTheSameAsGraphQLJS(t *testing.T) {
	deviations := readDeviations(t)
	compare(t, newRig(t), "testdata/documents.txtar", 150, deviations)
	for name := range deviations {
		t.Errorf("deviations.txt names %s, which is no document", name)
	}
}

// compare runs the documents of a file on both sides, but for deviations, which
// it takes out of the map.
func compare(t *testing.T, r *rig, path string, least int, deviations map[string]string) {
	t.Helper()
	requests := r.documents(t, path)
	ref := r.ask(t, requests, nil)
	same := 0
	for i, req := range requests {
		got, body := r.run(t, req)
		diff := difference(got, ref.Results[i])
		reason, known := deviations[req.name]
		delete(deviations, req.name)
		switch {
		case diff == "" && known:
			t.Errorf("%s: no longer deviates (%s): take it out of deviations.txt", req.name, reason)
		case diff == "":
			same++
		case !known:
			want, _ := json.Marshal(ref.Results[i])
			t.Errorf("%s: %s\n%s\nours      %s\nreference %s", req.name, diff, req.Query, body, want)
		}
	}
	t.Logf("%d documents, %d the same", len(requests), same)
	if len(requests) < least {
		t.Errorf("only %d documents", len(requests))
	}
}

// difference says how two outcomes differ; empty when they do not. Of requests
// that both refuse, nothing else is compared: the words are each side's own.
func difference(got, want outcome) string {
	if got.Executed != want.Executed {
		return "one side refused it"
	}
	if len(got.Errors) == 0 != (len(want.Errors) == 0) {
		return "one side has errors"
	}
	if !got.Executed {
		return ""
	}
	if !reflect.DeepEqual(got.Data, want.Data) {
		return "other data"
	}
	if len(got.Errors) != len(want.Errors) {
		return fmt.Sprintf("%d errors for %d", len(got.Errors), len(want.Errors))
	}
	for i := range got.Errors {
		g, w := got.Errors[i], want.Errors[i]
		if !reflect.DeepEqual(g.Path, w.Path) || g.Code != w.Code || !reflect.DeepEqual(g.Locations, w.Locations) {
			return fmt.Sprintf("error %d differs", i)
		}
	}
	return ""
}

// readDeviations reads lines of "name: reason".
func readDeviations(t *testing.T) map[string]string {
	t.Helper()
	known := map[string]string{}
	for line := range strings.Lines(string(read(t, "testdata/deviations.txt"))) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && !strings.HasPrefix(name, "#") {
			known[name] = reason
		}
	}
	return known
}

func TestGraphQLJSBuildsTheContractFromIntrospection(t *testing.T) {
	for name, r := range map[string]*rig{"example": newRig(t), "museum": newMuseum(t)} {
		t.Run(name, func(t *testing.T) { r.rebuild(t) })
	}
}

func (r *rig) rebuild(t *testing.T) {
	query := r.ask(t, nil, nil).IntrospectionQuery
	got, body := r.run(t, request{name: "introspection", as: "nobody", Query: query})
	if len(got.Errors) > 0 {
		t.Fatalf("errors: %.2000s", body)
	}
	data, err := json.Marshal(got.Data)
	if err != nil {
		t.Fatal(err)
	}
	printed := r.ask(t, nil, data).Printed
	if printed.Ours != printed.Contract {
		t.Errorf("the schema from introspection is another than the contract:\n%s", firstDifference(printed.Ours, printed.Contract))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\nours     %s\ncontract %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines for %d", len(x), len(y))
}
