package xmltree_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"tidings/fault"
	"tidings/xmltree"
)

// wide writes a text in UTF-16.
func wide(order binary.AppendByteOrder, text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func little(text string) string { return wide(binary.LittleEndian, text) }
func big(text string) string    { return wide(binary.BigEndian, text) }

func TestEncodingsAreConverted(t *testing.T) {
	t.Parallel()
	const doc, text = "<a>é€\u4e2d😀\u0080</a>", "é€\u4e2d😀\u0080"
	const bom8, bomL, bomB = "\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"
	declare := func(encoding, rest string) string { return `<?xml version="1.0" encoding="` + encoding + `"?>` + rest }
	for what, c := range map[string]struct{ data, charset, text string }{
		"UTF-8":                            {doc, "", text},
		"UTF-8, said by HTTP":              {doc, "UTF-8", text},
		"a mark outranks HTTP":             {bom8 + doc, "iso-8859-1", text},
		"a mark outranks all":              {bomL + little(declare("utf-8", doc)), "us-ascii", text},
		"HTTP outranks the declaration":    {declare("UTF-16", doc), "utf-8", text},
		"HTTP outranks Latin-1":            {declare("ISO-8859-1", doc), "utf8", text},
		"UTF-16LE with a mark":             {bomL + little(doc), "", text},
		"UTF-16BE with a mark":             {bomB + big(doc), "", text},
		"UTF-16LE with a mark, said":       {bomL + little(declare("utf-16", doc)), "utf-16", text},
		"UTF-16BE with a mark, said":       {bomB + big(declare("utf-16", doc)), "UTF-16", text},
		"UTF-16LE without a mark":          {little(declare("UTF-16", doc)), "", text},
		"UTF-16BE without a mark":          {big(doc), "", text},
		"UTF-16LE without a mark, said":    {little(doc), "utf-16", text},
		"UTF-16BE without a mark, said":    {big(" " + doc), "utf-16", text},
		"UTF-16LE by its own name":         {little(" " + doc), "UTF-16LE", text},
		"UTF-16BE by its own name":         {big(" " + doc), "utf-16be", text},
		"Latin-1, declared":                {declare("ISO-8859-1", "<a>\xE9\x80</a>"), "", "é\u0080"},
		"Latin-1, said by HTTP":            {"<a>\xE9</a>", "ISO-8859-1", "é"},
		"Windows-1252, declared":           {declare("windows-1252", "<a>\xE9\x80\x9F\x8E</a>"), "", "é€ŸŽ"},
		"Windows-1252, said by HTTP":       {declare("utf-8", "<a>\x93x\x94</a>"), "Windows-1252", "“x”"},
		"US-ASCII, with a reference":       {declare("us-ascii", "<a>&#233;</a>"), "", "é"},
		"US-ASCII, said by HTTP":           {"<a>e</a>", "US-ASCII", "e"},
		"the greatest document in UTF-16":  {little("<a>" + strings.Repeat("x", 1<<19-7) + "</a>"), "", strings.Repeat("x", 1<<19-7)},
		"a character outside of the plane": {bomB + big("<a>\U0010FFFF</a>"), "", "\U0010FFFF"},
	} {
		if e, err := scan([]byte(c.data), c.charset); err != nil {
			t.Errorf("%s: %v", what, err)
		} else if e.Text != c.text {
			t.Errorf("%s: text %.100q, want %.100q", what, e.Text, c.text)
		}
	}
}

func TestEncodingsAreStrict(t *testing.T) {
	t.Parallel()
	declare := func(encoding, rest string) string { return `<?xml version="1.0" encoding="` + encoding + `"?>` + rest }
	for what, c := range map[string]struct {
		data, charset string
		code          fault.Code
	}{
		"half a character":               {"\xFF\xFE" + little("<a/>") + " ", "", fault.BadRequest},
		"a high surrogate alone":         {"\xFF\xFE" + little("<a>") + "\x00\xD8" + little("x</a>"), "", fault.BadRequest},
		"a low surrogate alone":          {"\xFF\xFE" + little("<a>") + "\x00\xDC" + little("</a>"), "", fault.BadRequest},
		"surrogates the wrong way round": {"\xFF\xFE" + little("<a>") + "\x00\xDC\x00\xD8" + little("</a>"), "", fault.BadRequest},
		"a high surrogate at the end":    {"\xFF\xFE" + little("<a/>") + "\x00\xD8", "", fault.BadRequest},
		"UTF-16 that HTTP calls UTF-8":   {little("<a/>"), "utf-8", fault.BadRequest},
		"UTF-8 that HTTP calls UTF-16":   {"<a/>", "utf-16", fault.BadRequest},
		"UTF-8 that declares UTF-16":     {declare("UTF-16", "<a/>"), "", fault.BadRequest},
		"UTF-32":                         {"\xFF\xFE\x00\x00<\x00\x00\x00", "", fault.BadRequest},
		"U+FFFE in UTF-16":               {"\xFF\xFE" + little("<a>") + "\xFE\xFF" + little("</a>"), "", fault.BadRequest},
		"a byte that is not in 1252":     {declare("windows-1252", "<a>\x81</a>"), "", fault.BadRequest},
		"beyond ASCII":                   {"<a>\xE9</a>", "us-ascii", fault.BadRequest},
		"Latin-1 without saying so":      {"<a>\xE9</a>", "", fault.BadRequest},
		"an encoding not read here":      {declare("EBCDIC-CP-US", "<a/>"), "", fault.BadRequest},
		"one that HTTP names":            {"<a/>", "shift_jis", fault.BadRequest},
		"UTF-7":                          {"<a/>", "utf-7", fault.BadRequest},
		"too large once converted":       {declare("ISO-8859-1", "<a>"+strings.Repeat("\xE9", 1<<19)+"</a>"), "", fault.PayloadTooLarge},
		"too large once converted, wide": {"\xFF\xFE" + little("<a>"+strings.Repeat("中", 1<<19-16)+"</a>"), "", fault.PayloadTooLarge},
		"too large as it came":           {"\xFF\xFE" + little("<a>"+strings.Repeat("x", 1<<19)+"</a>"), "", fault.PayloadTooLarge},
	} {
		if e, err := scan([]byte(c.data), c.charset); err == nil {
			t.Errorf("%s: accepted as %.100v", what, e)
		} else if !fault.Is(err, c.code) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestALimitOfItsOwnHoldsForADocument(t *testing.T) {
	t.Parallel()
	doc := []byte("<a>" + strings.Repeat("x", 2<<20) + "</a>")
	if _, err := xmltree.ScanWithin(doc, "", 3<<20); err != nil {
		t.Error(err)
	}
	if _, err := xmltree.ScanWithin(doc, "", 1<<20); !fault.Is(err, fault.PayloadTooLarge) {
		t.Error(err)
	}
}

// FuzzEncodings: a document means the same in every encoding that can hold it.
func FuzzEncodings(f *testing.F) {
	f.Add("<a>é😀</a>")
	f.Add(`<?xml version="1.0"?><a b="€"/>`)
	f.Add("<a>\uFFFE</a>")
	f.Fuzz(func(t *testing.T, doc string) {
		if !strings.HasPrefix(doc, "<") || strings.Contains(doc, "encoding") {
			return
		}
		want, err := scan([]byte(doc), "utf-8")
		if err != nil {
			return
		}
		for what, data := range map[string]string{
			"LE": little(doc), "BE": big(doc), "marked LE": "\xFF\xFE" + little(doc), "marked BE": "\xFE\xFF" + big(doc),
		} {
			if got, err := scan([]byte(data), ""); err != nil || show(got) != show(want) {
				t.Fatalf("%s: %q: %v", what, doc, err)
			}
		}
	})
}
