package bus_test

import (
	"strings"
	"testing"

	"tidings/bus"
)

func TestSubjectsAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	s := bus.Subjects{Prefix: "tidings"}
	tests := []struct{ got, want string }{
		{s.Stream(), "tidings-log"},
		{s.Log(), "tidings.log.>"},
		{s.Live(), "tidings.live.>"},
		{s.Record("User", "01f-A_z"), "tidings.log.User.01f-A_z"},
		{s.Record("User", "a.b"), "tidings.log.User.=YS5i"},
		{s.Record("User", ""), "tidings.log.User.="},
		{s.Record("User", "*"), "tidings.log.User.=Kg"},
		{s.Records("User"), "tidings.log.User.*"},
		{s.Unique("User", "email", "0f"), "tidings.log._unique.User.email.0f"},
		{s.Command("User", "create"), "tidings.cmd.User.create"},
		{s.SOAP("v1", "SocialService"), "tidings.soap.v1.SocialService"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s, want %s", test.got, test.want)
		}
	}
}

func TestOnlyRecordSubjectsAreParsed(t *testing.T) {
	t.Parallel()
	s := bus.Subjects{Prefix: "tidings"}
	for _, subject := range []string{
		"", "tidings.log.", "tidings.log.User", "tidings.log.User.", "tidings.log.User.a.b", "tidings.log.User.a b",
		"tidings.log._unique.User", s.Unique("User", "email", "0f"), "other.log.User.1", "tidings.live.User.1",
		"tidings.log.User.=YQ", // "a" needs no encoding: two subjects for one id
		"tidings.log.User.=YR", // bits that say nothing: likewise
		"tidings.log.User.=*", "tidings.log.User.=YS5i=",
	} {
		if typ, id, ok := s.ParseRecord(subject); ok {
			t.Errorf("%q was read as %q %q", subject, typ, id)
		}
	}
}

// What is parsed is exactly what is built, both ways.
func FuzzRecordSubjects(f *testing.F) {
	for _, seed := range []string{"1", "a.b", "", "ünï", "*", ">", "=YQ", "\x00\xff", "tidings.log.User.=YR", "tidings.log.User.=YS5i\n"} {
		f.Add(seed)
	}
	s := bus.Subjects{Prefix: "tidings"}
	f.Fuzz(func(t *testing.T, in string) {
		subject := s.Record("User", in)
		if strings.ContainsAny(subject, " *>\r\n\x00") || strings.Count(subject, ".") != 3 {
			t.Fatalf("%q became the subject %q", in, subject)
		}
		if typ, id, ok := s.ParseRecord(subject); !ok || typ != "User" || id != in {
			t.Fatalf("%q became %q and that %q %q %v", in, subject, typ, id, ok)
		}
		if typ, id, ok := s.ParseRecord(in); ok && s.Record(typ, id) != in {
			t.Fatalf("%q was read as %q %q, whose subject is %q", in, typ, id, s.Record(typ, id))
		}
	})
}
