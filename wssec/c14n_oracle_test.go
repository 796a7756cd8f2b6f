//go:build conformance

package wssec_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/c14n anew")

// TestCanonicalFormsAgainstXmllint compares both forms of random documents with
// those of libxml2. It needs xmllint (Debian: libxml2-utils).
func TestCanonicalFormsAgainstXmllint(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Fatal("xmllint is missing: install libxml2-utils")
	}
	r := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	for i := range 400 {
		doc := randomDocument(r)
		file := filepath.Join(dir, "doc.xml")
		if *update && i < 12 {
			file = fmt.Sprintf("testdata/c14n/random%02d.xml", i)
		}
		if err := os.WriteFile(file, doc, 0o644); err != nil {
			t.Fatal(err)
		}
		for ext, flag := range map[string]string{"exc": "--exc-c14n", "inc": "--c14n"} {
			want, err := exec.Command("xmllint", flag, file).Output()
			if err != nil {
				t.Fatalf("%v for %s", err, doc)
			}
			if got := forms[ext](t, root(t, doc)); got != string(bytes.TrimRight(want, "\n")) && got != string(want) {
				t.Fatalf("%s of\n%s\nis\n%s\nwant\n%s", ext, doc, got, want)
			}
			if *update && i < 12 {
				if err := os.WriteFile(fmt.Sprintf("testdata/c14n/random%02d.%s", i, ext), want, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestCanonicalFormsOfPartsAgainstSantuario compares the forms of elements anywhere
// in random documents, with PrefixLists, with those of the library that WSS4J and
// CXF sign with. It needs Java and libwss4j-java.
func TestCanonicalFormsOfPartsAgainstSantuario(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	var in bytes.Buffer
	var want []string
	for range 400 {
		doc := randomDocument(r)
		all := elements(root(t, doc))
		n := r.IntN(len(all))
		prefixes := []string{"a", "b", "c", "#default", "unbound"}
		r.Shuffle(len(prefixes), func(i, j int) { prefixes[i], prefixes[j] = prefixes[j], prefixes[i] })
		prefixes = prefixes[:r.IntN(4)]
		fmt.Fprintf(&in, "%s;%d;%s\n", base64.StdEncoding.EncodeToString(doc), n, strings.Join(prefixes, " "))
		want = append(want, base64.StdEncoding.EncodeToString([]byte(exclusive(t, all[n], prefixes...)))+";"+
			base64.StdEncoding.EncodeToString([]byte(inclusive(t, all[n]))))
	}
	const jars = "/usr/share/java/"
	cmd := exec.CommandContext(t.Context(), "java", "-cp", jars+"xmlsec.jar:"+jars+"commons-logging.jar:"+jars+"slf4j-api.jar:"+jars+"slf4j-nop.jar", "testdata/Canonical.java")
	cmd.Stdin = &in
	asked := strings.Split(in.String(), "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("Santuario is missing: apt-get install libwss4j-java default-jdk-headless (%v)", err)
	}
	for i, got := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		// Santuario inherits an attribute xml:… from the outermost element that has it,
		// where Canonical XML says the nearest.
		exclusive, _, _ := strings.Cut(got, ";")
		if got != want[i] && !(strings.Contains(decoded(asked[i]), "xml:") && strings.HasPrefix(want[i], exclusive+";")) {
			t.Fatalf("of %s\n%s\nwe write\n%s", decoded(asked[i]), decoded(got), decoded(want[i]))
		}
	}
}

// decoded decodes what of a line is base64.
func decoded(line string) string {
	parts := strings.Split(line, ";")
	for i, part := range parts {
		if text, err := base64.StdEncoding.DecodeString(part); err == nil && len(part) > 8 {
			parts[i] = string(text)
		}
	}
	return strings.Join(parts, "\n")
}

// randomDocument writes a document that uses every freedom that a canonical form
// takes away. It holds no comments, which xmllint would keep.
func randomDocument(r *rand.Rand) []byte {
	var out bytes.Buffer
	if r.IntN(2) == 0 {
		out.WriteString("<?xml version='1.0' encoding=\"UTF-8\"?>\n")
	}
	writeRandom(&out, r, map[string]string{}, 0)
	out.WriteString("\n")
	return out.Bytes()
}

func writeRandom(out *bytes.Buffer, r *rand.Rand, outer map[string]string, depth int) {
	scope := map[string]string{}
	for p, uri := range outer {
		scope[p] = uri
	}
	var attrs []string
	for range r.IntN(3) {
		prefix, uri := pick(r, "", "a", "b", "c"), pick(r, "urn:1", "urn:2", "urn:3?x=1")
		if prefix == "" && r.IntN(3) == 0 {
			uri = ""
		}
		name := strings.TrimSuffix("xmlns:"+prefix, ":")
		if strings.Contains(strings.Join(attrs, " "), name+"=") {
			continue
		}
		scope[prefix] = uri
		attrs = append(attrs, fmt.Sprintf("%s=%q", name, uri))
	}
	prefix := func() string {
		for {
			if p := pick(r, "", "a", "b", "c"); p == "" || scope[p] != "" {
				return p
			}
		}
	}
	local := 0
	for range r.IntN(4) {
		p, value := prefix(), pick(r, "v", " two  words ", "&#9;&#xA;&#13;", "&lt;&amp;'&gt;", "line\nend\ttab", "é€𝄞")
		if r.IntN(6) == 0 {
			p = "xml"
		}
		local++
		attrs = append(attrs, fmt.Sprintf("%s%s%d=\"%s\"", colon(p), pick(r, "z", "y", "x"), local, value))
	}
	r.Shuffle(len(attrs), func(i, j int) { attrs[i], attrs[j] = attrs[j], attrs[i] })
	name := colon(prefix()) + pick(r, "e", "f", "g")
	fmt.Fprintf(out, "<%s%s%s", name, pick(r, " ", "\n ", "  "), strings.Join(attrs, " "))
	if r.IntN(6) == 0 {
		out.WriteString("/>")
		return
	}
	out.WriteString(">")
	for range r.IntN(4) {
		if depth < 6 && r.IntN(3) > 0 {
			writeRandom(out, r, scope, depth+1)
			continue
		}
		out.WriteString(pick(r, "text", " ", "\r\n", "a&lt;b&amp;c&gt;d\"'", "&#13;&#x20AC;", "<![CDATA[<&>]]>", "]]&gt;", "\t"))
	}
	fmt.Fprintf(out, "</%s%s>", name, pick(r, "", " "))
}

func pick(r *rand.Rand, choices ...string) string { return choices[r.IntN(len(choices))] }

func colon(prefix string) string {
	if prefix == "" {
		return ""
	}
	return prefix + ":"
}
