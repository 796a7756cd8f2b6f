package schema_test

import (
	"testing"

	"tidings/schema"
)

func TestTheNearestNameIsTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	names := []string{"name", "email", "avatar", "createdAt", "id", "TIDINGS_LISTEN"}
	for word, want := range map[string]string{
		"nam": "name", "nmae": "name", "Name": "name", "emial": "email", "avatr": "avatar", "createdat": "createdAt",
		"ids": "id", "TIDINGS_LISTN": "TIDINGS_LISTEN", "TIDINGS_LSITNE": "TIDINGS_LISTEN",
		"": "", "x": "", "kind": "", "text": "", "followers": "", "tame": "name",
	} {
		if got := schema.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := schema.Nearest("nam", nil); got != "" {
		t.Error(got)
	}
}
