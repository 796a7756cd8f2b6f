package resource

import (
	"tidings/internal/rawjson"
	"tidings/schema"
)

// complete gives a record that was written before the schema had some of its
// fields their defaults, so that every reader finds what the schema promises.
// What it returns is raw itself when nothing is absent.
func complete(r *schema.Resource, raw []byte) []byte {
	var found [1]rawjson.Extent
	whole := raw
	for _, f := range r.Fields {
		if f.Default == nil || !f.Stored() || !rawjson.Find(raw, []string{f.Name}, found[:]) || found[0] != (rawjson.Extent{}) {
			continue
		}
		end := len(whole) - 1
		for whole[end] != '}' { // it is a JSON object: Find says so
			end--
		}
		grown := append(make([]byte, 0, len(whole)+len(f.Name)+len(f.Default)+4), whole[:end]...)
		grown = append(append(grown, `,"`+f.Name+`":`...), f.Default...)
		whole = append(grown, '}')
	}
	return whole
}
