package soap

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidings/xmltree"
)

// appendValue reads a value by the lexical rules of XML Schema and appends it as
// JSON. The error says what the value should have been; ranges and formats
// beyond the type are the schema's to check.
func (t *xsdType) appendValue(out []byte, text string) ([]byte, error) {
	switch {
	case t.form == formText:
		return appendJSONString(out, text), nil
	case t.form == formJSON && !json.Valid([]byte(text)):
		return out, fmt.Errorf("%.60q is not JSON; a text has quotes around it", text)
	case t.form == formJSON:
		return append(out, text...), nil
	}
	text = xmltree.Trim(text)
	switch t.form {
	case formInt:
		n, err := parseInt(text)
		return strconv.AppendInt(out, n, 10), err
	case formDouble:
		f, err := parseDouble(text)
		return strconv.AppendFloat(out, f, 'g', -1, 64), err
	case formBoolean:
		switch text {
		case "true", "1":
			return append(out, "true"...), nil
		case "false", "0":
			return append(out, "false"...), nil
		}
		return out, fmt.Errorf("%.40q is neither true nor false", text)
	case formDateTime:
		at, err := xmltree.ParseDateTime(text)
		return appendJSONString(out, at.UTC().Format(time.RFC3339Nano)), err
	case formDate:
		day, err := parseDate(text)
		return appendJSONString(out, day), err
	case formLong:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("%.40q is no whole number of 64 bits", text)
		}
		return strconv.AppendInt(out, n, 10), err
	case formDecimal, formTime, formBinary:
		text, err := t.customary(text)
		return appendJSONString(out, text), err
	default:
		return t.appendEnum(out, text)
	}
}

func (t *xsdType) appendEnum(out []byte, text string) ([]byte, error) {
	for _, v := range t.values {
		if v.name == text {
			return appendJSONString(out, text), nil
		}
	}
	return out, fmt.Errorf("%.100q is no value of %s", text, t.name)
}

// parseInt reads an xsd:int: a sign and leading zeros are allowed.
func parseInt(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no whole number of 32 bits", text)
	}
	return n, nil
}

// parseDouble reads an xsd:double. INF and NaN have no place in GraphQL.
func parseDouble(text string) (float64, error) {
	if strings.Trim(text, "+-.0123456789eE") == "" {
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%.40q is no finite number", text)
}

// parseDate reads an xsd:date; a zone is dropped.
func parseDate(text string) (string, error) {
	for _, layout := range [...]string{"2006-01-02", "2006-01-02Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format(time.DateOnly), nil
		}
	}
	return "", fmt.Errorf("%.40q is no date such as 2026-11-20", text)
}

// appendJSONString quotes s, which is valid UTF-8: the scanner saw to that.
func appendJSONString(out []byte, s string) []byte {
	out = append(out, '"')
	for {
		n := unescaped(s)
		out = append(out, s[:n]...)
		if n == len(s) {
			return append(out, '"')
		}
		if c := s[n]; c < ' ' {
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		} else {
			out = append(out, '\\', c)
		}
		s = s[n+1:]
	}
}

// unescaped is how many bytes s begins with that stand for themselves in a string of
// JSON.
func unescaped(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := word(s[i : i+8])
		found := ((x - ones*' ') | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)) &^ x & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

const hexDigits = "0123456789abcdef"

// customary checks a value of a scalar that the adopter declared, whose values
// nobody else checks.
func (t *xsdType) customary(text string) (string, error) {
	ok := false
	switch t.form {
	case formLong:
		_, err := strconv.ParseInt(text, 10, 64)
		ok = err == nil
	case formDecimal:
		ok = decimal.MatchString(text)
	case formTime:
		ok = clock.MatchString(text)
	case formBinary:
		text = strings.Join(strings.Fields(text), "")
		_, err := base64.StdEncoding.DecodeString(text)
		ok = err == nil
	}
	if !ok {
		return "", fmt.Errorf("%.40q is no %s", text, t.base)
	}
	return text, nil
}

var (
	decimal = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)$`)
	clock   = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-](0\d|1[0-4]):[0-5]\d)?$`)
)
