package view

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"tidings/schema"
)

// missing is what a column holds where the record has no value, null, or one
// that does not fit the field's kind (an old record after the kind changed). JSON
// has no infinity, and SQLite sorts numbers below text: so it is less than
// every value, every comparison is true or false as in Go, and a page boundary
// is one range of one index. SQL's NULL gives none of this.
var missing any = math.Inf(-1)

// fixedTime is RFC 3339 in UTC with all nine digits: text order is time order.
const fixedTime = "2006-01-02T15:04:05.000000000Z"

// columnValue turns a JSON value into what its column holds.
func columnValue(kind schema.Kind, raw []byte) any {
	if len(raw) == 0 {
		return missing
	}
	switch kind {
	case schema.KindInt, schema.KindPositiveInt:
		return intValue(raw)
	case schema.KindFloat:
		return floatValue(raw)
	case schema.KindBoolean:
		switch string(raw) {
		case "true":
			return int64(1)
		case "false":
			return int64(0)
		}
		return missing
	}
	if raw[0] != '"' {
		return missing
	}
	s, ok := unquote(raw)
	if !ok {
		return missing
	}
	if kind == schema.KindDateTime {
		return timeValue(s)
	}
	return s
}

func intValue(raw []byte) any {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	f, ok := floatValue(raw).(float64) // 1e3 and 5.0 are integers, too
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return missing
	}
	return int64(f)
}

func floatValue(raw []byte) any {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return missing
	}
	return f
}

func timeValue(s string) any {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return missing
	}
	return t.UTC().Format(fixedTime)
}

// unquote decodes a JSON string.
func unquote(raw []byte) (string, bool) {
	plain := raw[1 : len(raw)-1]
	for _, c := range plain {
		if c == '\\' || c >= 0x80 || c < 0x20 {
			var s string
			err := json.Unmarshal(raw, &s)
			return s, err == nil
		}
	}
	return string(plain), true
}
