package edge

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestTheCommandErasesARecord(t *testing.T) {
	t.Parallel()
	s := newService(t)
	admin := s.admin(t)
	token := bearer(t, "ann")
	_, text := s.post(t, `{"query":"mutation { createUser(input: {name: \"Ann\", email: \"ann@example.com\"}) { id } updateUser(input: {id: \"ann\", name: \"Anna\"}) { id } }"}`, token)
	if strings.Contains(text, "errors") {
		t.Fatal(text)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"erase", "--admin", admin, "--type", "User", "--id", "ann"}, nil, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "User ann is deleted.") || !strings.Contains(out.String(), "2 changes of it, and 2 messages of its unique values") {
		t.Error(out.String())
	}
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(text, `"NOT_FOUND"`); { // the view follows the log
		if time.Now().After(deadline) {
			t.Fatal(text)
		}
		_, text = s.post(t, `{"query":"{ user(id: \"ann\") { id } }"}`, token)
	}
}

func TestARecordIsErasedByTheAdminPort(t *testing.T) {
	t.Parallel()
	s := newService(t)
	admin := s.admin(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing":         {nil, "name it by --type and --id"},
		"no such type":    {[]string{"--type", "Cat", "--id", "1"}, "there is no resource"},
		"no such record":  {[]string{"--type", "User", "--id", "nobody"}, "the log holds nothing of a User"},
		"nobody listens":  {[]string{"--type", "User", "--id", "1", "--admin", "127.0.0.1:1"}, "name that with --admin"},
		"no such setting": {[]string{"--kind", "User"}, "unknown flag --kind; see api erase --help"},
	} {
		args := append([]string{"erase", "--admin", admin}, c.args...)
		if err := run(t.Context(), args, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
