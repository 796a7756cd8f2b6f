package view

import (
	"fmt"
	"strings"
	"sync/atomic"

	"tidings/schema"
)

// table is where the records of one resource are.
type table struct {
	resource *schema.Resource
	name     string // quoted
	dialect  dialect
	owner    *column
	columns  []*column       // without id
	fields   []*schema.Field // of the columns
	byField  map[string]*column

	insert, upsert, remove, get string

	// changing is the sequence up to which the last Apply goes that changes the
	// table (recall.go, behind.go).
	changing atomic.Uint64
}

// column holds one field of every record, in a form that SQL compares right.
// It has no declared type, nor has the id: with one, SQLite would turn what it is
// compared with, missing above all, into text.
type column struct {
	field   *schema.Field
	name    string // quoted
	indexed bool
}

// newTables lays out a table for each resource: its own columns, and those
// that relations of other resources follow.
func newTables(model *schema.Model, d dialect) map[string]*table {
	names := d.names("meta")
	tables := make(map[string]*table, len(model.Resources))
	for _, r := range model.Resources {
		tables[r.Name] = &table{resource: r, name: d.table(names.pick(r.Name)), dialect: d}
	}
	needed := keysOfRelations(model)
	for _, t := range tables {
		t.layOut(needed)
	}
	return tables
}

// keysOfRelations returns the "Resource.field" that relations need, and whether
// they are searched by.
func keysOfRelations(model *schema.Model) map[string]bool {
	keys := map[string]bool{}
	for _, r := range model.Resources {
		for _, f := range r.Fields {
			rel := f.Relation
			switch {
			case rel == nil || !rel.Many:
			case rel.Through != nil:
				keys[rel.Through.Name+"."+rel.Field] = true
				// Needed, but not searched by unless another relation does.
				if target := rel.Through.Name + "." + rel.TargetField; !keys[target] {
					keys[target] = false
				}
			default:
				keys[rel.Target.Name+"."+rel.Field] = true
			}
		}
	}
	return keys
}

func (t *table) layOut(needed map[string]bool) {
	names := t.dialect.names("id", "doc", "seq", "rowid", "oid", "_rowid_")
	t.byField = map[string]*column{}
	for _, f := range t.resource.Fields {
		search, follow := needed[t.resource.Name+"."+f.Name]
		owns := f == t.resource.Owner
		switch {
		case !f.Stored() || f.Type != nil && f.Type.Elem != nil:
			continue
		case f.Name == "id":
			t.byField["id"] = &column{field: f, name: `"id"`, indexed: true}
		case f.Indexed || owns || follow:
			c := &column{field: f, name: names.pick(f.Name), indexed: f.Indexed || owns || search}
			t.columns, t.fields = append(t.columns, c), append(t.fields, f)
			t.byField[f.Name] = c
		}
		if owns {
			t.owner = t.byField[f.Name]
		}
	}
	t.write()
}

// write composes the statements that never change.
func (t *table) write() {
	var into, values, set strings.Builder
	for _, c := range t.columns {
		into.WriteString(", " + c.name)
		values.WriteString(", ?")
		set.WriteString(", " + c.name + " = excluded." + c.name)
	}
	t.insert = fmt.Sprintf("INSERT INTO %s (id, doc, seq%s) VALUES (?, ?, ?%s)", t.name, into.String(), values.String())
	t.upsert = t.insert + " ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, seq = excluded.seq" + set.String()
	t.remove = fmt.Sprintf("DELETE FROM %s WHERE id = ?", t.name)
	t.get = fmt.Sprintf("SELECT doc FROM %s WHERE id = ?", t.name)
}

// create returns the statement that makes the table. The id has no index yet.
func (t *table) create() string {
	var columns strings.Builder
	for _, c := range t.columns {
		columns.WriteString(", " + c.name)
	}
	return fmt.Sprintf("CREATE TABLE %s (id NOT NULL, doc BLOB NOT NULL, seq INTEGER NOT NULL%s)", t.name, columns.String())
}

// index returns the statements that make the table's indexes, which cost less
// when the records are there already. The id ends every index, so that a page in
// the order of a column is one range of it.
func (t *table) index() []string {
	named := func(what string) string { return quote(strings.Trim(t.name, `"`) + "." + what) }
	indexes := []string{fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (id)", named("id"), t.name)}
	for _, c := range t.columns {
		if c.indexed {
			name := named(fmt.Sprint(c.field.Name, ".", len(indexes)-1))
			indexes = append(indexes, fmt.Sprintf("CREATE INDEX %s ON %s (%s, id)", name, t.name, c.name))
		}
	}
	return indexes
}

// names gives out SQL names. SQL does not tell upper from lower case and keeps
// some names to itself, GraphQL does neither: whoever comes second gets a
// suffix that no GraphQL name can have.
type names struct {
	taken   map[string]bool
	longest int // in bytes, without the suffix; 0: as long as they are
}

func newNames(taken ...string) names {
	n := names{taken: map[string]bool{}}
	for _, t := range taken {
		n.taken[t] = true
	}
	return n
}

func (n names) pick(want string) string {
	if n.longest > 0 && len(want) > n.longest {
		want = want[:n.longest]
	}
	name := want
	for i := 2; n.taken[strings.ToLower(name)] || strings.HasPrefix(strings.ToLower(name), "sqlite_"); i++ {
		name = fmt.Sprintf("%s$%d", want, i)
		if strings.HasPrefix(strings.ToLower(name), "sqlite_") {
			name = "$" + name
		}
	}
	n.taken[strings.ToLower(name)] = true
	return quote(name)
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
