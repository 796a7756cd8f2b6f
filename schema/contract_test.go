package schema_test

import (
	"flag"
	"os"
	"testing"

	"tidings/schema"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

const social = "../examples/social"

func TestSocialContractIsUpToDate(t *testing.T) {
	t.Parallel()
	model, err := schema.Load(os.DirFS(social))
	if err != nil {
		t.Fatal(err)
	}
	path := social + "/contract.graphql"
	if *update {
		if err := os.WriteFile(path, []byte(model.SDL), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if model.SDL != string(want) {
		t.Error("contract.graphql differs from what the schema expands to; run go test ./schema -update and review the difference")
	}
}
