//go:build !race

package soap_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// What an envelope makes all ends of the way allocate, the caller's included, is
// bounded by its size. (It does not run in parallel: it counts what the whole
// process allocates.)
func TestHostileEnvelopesAllocateInProportion(t *testing.T) {
	w := newWorld(t, trusting)
	header := http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "alice")},
		"Accept-Encoding": {"identity"}} // what packs answers is large, and kept
	w.post(t, header, envelope11("", getAlice)) // what is made once
	for what, a := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w.post(t, header, a.envelope)
		runtime.ReadMemStats(&after)
		const once = 1 << 20 // for buffers that do not depend on the envelope
		if n := (after.TotalAlloc - before.TotalAlloc); n > once+250*uint64(len(a.envelope)) {
			t.Errorf("%s: %d bytes for an envelope of %d", what, n, len(a.envelope))
		}
	}
}

// growing are envelopes within the limits that n makes larger, each by another
// dimension, and that a reader takes quadratic time for if it looks at all that
// came before again for each new piece.
func growing(t *testing.T) map[string]func(n int) string {
	body := func(piece string, each int) func(n int) string {
		return func(n int) string {
			return envelope11("", "<t:GetUser><t:id>"+strings.Repeat(piece, each*n)+"</t:id></t:GetUser>")
		}
	}
	header := func(piece string, each int) func(n int) string {
		return func(n int) string {
			return envelope11("<w:Security><w:UsernameToken>"+strings.Repeat(piece, each*n)+"</w:UsernameToken></w:Security>", getAlice)
		}
	}
	full := "<b" + numberedAttrs(64, "a", "") + "/>"
	long := ` xmlns:p="` + strings.Repeat("u", 511) + `1" xmlns:q="` + strings.Repeat("u", 511) + `2"`
	same := "<b" + numberedAttrs(32, "p:a", "") + numberedAttrs(32, "q:a", "") + "/>"
	return map[string]func(n int) string{
		"text":                body("x", 50_000),
		"references":          body("&#60;", 10_000),
		"CDATA in text":       body("x<![CDATA[y]]>", 3500),
		"comments in text":    body(strings.Repeat("x", 800)+"<!---->", 61),
		"elements":            body("<b/>", 11_000),
		"elements in text":    body("x<b/>", 10_000),
		"attributes":          body(full, 87),
		"declarations":        body("<b"+numberedAttrs(60, "xmlns:a", "u")+"/>", 50),
		"long attributes":     body(`<b a="`+strings.Repeat("&lt;", 1_000)+`"/>`, 12),
		"nearly equal spaces": func(n int) string { return strings.Replace(body(same, 100)(n), "<t:id>", "<t:id"+long+">", 1) },
		"a full scope": func(n int) string {
			return strings.Replace(body("<a00:b/>", 6_000)(n), "<t:id>", "<t:id"+numberedAttrs(60, "xmlns:a", "u")+">", 1)
		},
		"parts of a token": header("<w:x/>", 7500),
		"text in a token":  header("<![CDATA[y]]>", 3500),
		"items": func(n int) string {
			return envelope11("", "<t:CreatePost><t:input><t:tags>"+strings.Repeat("<t:item>x</t:item>", 2750*n)+"</t:tags></t:input></t:CreatePost>")
		},
		"fields to clear": func(n int) string {
			return envelope11("", "<t:UpdateUser><t:input><t:fieldsToNull>"+strings.Repeat("<t:item>name</t:item>", 2250*n)+"</t:fieldsToNull></t:input></t:UpdateUser>")
		},
		"encrypted":             func(n int) string { return encrypt(t, body("<b/>", 10_000)(n)) },
		"parts and keys":        func(n int) string { return withParts(encrypt(t, envelope11("", getAlice)), 5_000*n) },
		"deep, again and again": body(strings.Repeat("<b>", 30)+strings.Repeat("</b>", 30), 225),
	}
}

// withParts adds elements of many kinds around what is encrypted.
func withParts(encrypted string, n int) string {
	return strings.Replace(encrypted, "<xenc:ReferenceList>", strings.Repeat("<xenc:CarriedKeyName/>", n)+"<xenc:ReferenceList>", 1)
}

func numberedAttrs(n int, name, value string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(" " + name + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `="` + value + `"`)
	}
	return b.String()
}
