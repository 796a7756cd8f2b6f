package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// fingerprintFormat changes when the way that records are indexed does.
const fingerprintFormat = 2

// fingerprint hashes everything that decides how records are stored and
// indexed: names, types, defaults, indexes, owners and the keys of relations.
// Rules, constraints and descriptions are not among it.
func fingerprint(m *Model) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "format %d\n", fingerprintFormat)
	for _, r := range m.Resources {
		owner := ""
		if r.Owner != nil {
			owner = r.Owner.Name
		}
		fmt.Fprintf(hash, "resource %s owner %q\n", r.Name, owner)
		for _, f := range r.Fields {
			fingerprintField(hash, f)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func fingerprintField(w io.Writer, f *Field) {
	if f.Stored() {
		fmt.Fprintf(w, "field %s %s kind %d unique %t indexed %t default %s\n", f.Name, f.Type, f.Kind, f.Unique, f.Indexed, f.Default)
		return
	}
	through := ""
	if f.Relation.Through != nil {
		through = f.Relation.Through.Name
	}
	fmt.Fprintf(w, "relation %s %s many %t field %s through %s target %s\n",
		f.Name, f.Relation.Target.Name, f.Relation.Many, f.Relation.Field, through, f.Relation.TargetField)
}
