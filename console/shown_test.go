package console_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"tidings/console"
)

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		``:                                     "",
		`null`:                                 "",
		`{}`:                                   "",
		`{"id":"u1","n":12345678901234567890}`: `{"id":"u1","n":12345678901234567890}`,
		`{"password":"p"}`:                     `{"password":"•••"}`,
		`{"input":{"newPassword":"p","list":[{"api_key":1}]}}`:                                              `{"input":{"list":[{"api_key":"•••"}],"newPassword":"•••"}}`,
		`{"accessToken":null,"client-secret":{"a":1}}`:                                                      `{"accessToken":null,"client-secret":"•••"}`,
		`{"key":"k","signingKey":"k","pwd":"p","PIN":1,"passCode":"c","jwt":"e","bearer":"b","card.cvc":1}`: `{"PIN":"•••","bearer":"•••","card.cvc":"•••","jwt":"•••","key":"•••","passCode":"•••","pwd":"•••","signingKey":"•••"}`,
		`{"keyword":"k","shipping":"s","keys":["k"]}`:                                                       `{"keys":"•••","keyword":"k","shipping":"s"}`,
		`{"html":"<b>"}`: `{"html":"<b>"}`,
		`[1`:             "…",
		`{"a":"` + strings.Repeat("x", 70_000) + `"}`: "…",
	} {
		if got := console.Sent(sent); got != want {
			t.Errorf("%.60s: %s", sent, got)
		}
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "abc", "äöü", strings.Repeat("é", 100), "\xff\xfe" + strings.Repeat("x", 50), strings.Repeat("\x80", 50)} {
		for most := range 20 {
			got := console.Clip(text, most)
			if !utf8.ValidString(got) || len(got) > 3*most+len("…")+6 {
				t.Errorf("%q at %d: %q", text, most, got)
			}
		}
	}
	if got := console.Clip("äöü", 3); got != "ä…" {
		t.Errorf("got %q", got)
	}
}

func TestALatencyIsReadBetweenTheBoundsOfItsBucket(t *testing.T) {
	t.Parallel()
	upto := []float64{.001, .01, .1, math.MaxFloat64}
	for name, c := range map[string]struct {
		counts []uint64
		want   float64
	}{
		"all in the first":      {[]uint64{10, 10, 10, 10}, .0005},
		"all in the second":     {[]uint64{0, 10, 10, 10}, .0055},
		"half here, half there": {[]uint64{0, 5, 10, 10}, .01},
		"beyond the last bound": {[]uint64{0, 0, 0, 4}, .1},
		"most in the third":     {[]uint64{1, 1, 9, 9}, .001 + .009*0 + .009 + .09*3.5/8},
	} {
		if got := console.MedianOf(upto, c.counts); got == nil || math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %g", name, got, c.want)
		}
	}
	if console.MedianOf(upto, []uint64{0, 0, 0, 0}) != nil || console.MedianOf(nil, nil) != nil {
		t.Error("there is a latency of nothing")
	}
}
