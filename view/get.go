package view

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tidings/schema"
)

// Get returns the records with the given ids: as many as there are ids and in
// their order, nil where there is none. Ids may repeat, and there may be any
// number of them. The records are raw JSON; never modify them.
func (v *View) Get(ctx context.Context, typ string, ids []string) ([][]byte, error) {
	t, err := v.table(typ)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	select {
	case <-v.closed:
		return nil, fmt.Errorf("get %s: %w", typ, ErrClosed)
	default:
	}
	docs := make([][]byte, len(ids))
	missing := 0
	for i, id := range ids {
		if docs[i] = v.memory.record(typ, id); docs[i] == nil {
			missing++
		}
	}
	if missing == 0 {
		return docs, ctx.Err()
	}
	if missing == len(ids) {
		return docs, v.fetch(ctx, t, ids, docs)
	}
	rest, found := make([]string, 0, missing), make([][]byte, missing)
	for i, id := range ids {
		if docs[i] == nil {
			rest = append(rest, id)
		}
	}
	err = v.fetch(ctx, t, rest, found)
	for i := range docs {
		if docs[i] == nil && len(found) > 0 {
			docs[i], found = found[0], found[1:]
		}
	}
	return docs, err
}

// fetch finds records that are not remembered, and remembers them.
func (v *View) fetch(ctx context.Context, t *table, ids []string, docs [][]byte) error {
	typ := t.resource.Name
	position := v.position.Load() // first: see recall.go
	others := v.behind.look(typ, ids, docs)
	switch {
	case len(others) == len(ids):
		if err := v.read(ctx, t, ids, docs); err != nil {
			return err
		}
	case len(others) > 0:
		rest, found := make([]string, len(others)), make([][]byte, len(others))
		for i, o := range others {
			rest[i] = ids[o]
		}
		if err := v.read(ctx, t, rest, found); err != nil {
			return err
		}
		for i, o := range others {
			docs[o] = found[i]
		}
	}
	for i, id := range ids {
		v.memory.remember(typ, id, docs[i], position)
	}
	return ctx.Err()
}

// read reads records from SQLite.
func (v *View) read(ctx context.Context, t *table, ids []string, docs [][]byte) error {
	typ := t.resource.Name
	r, err := v.reader(ctx)
	if err != nil {
		return fmt.Errorf("get %s: %w", typ, err)
	}
	defer v.giveBack(r)
	if len(ids) == 1 {
		err = r.query(ctx, t.get, []any{ids[0]}, func(scan func(...any) error) error { return scan(&docs[0]) })
	} else {
		err = r.getMany(ctx, t, ids, docs)
	}
	if err != nil {
		return v.failed(ctx, "get "+typ, err)
	}
	return nil
}

func (s *session) getMany(ctx context.Context, t *table, ids []string, docs [][]byte) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	query := "SELECT j.key, t.doc FROM json_each(?) j CROSS JOIN " + t.name + " t ON t.id = j.value"
	return s.query(ctx, query, []any{string(list)}, func(scan func(...any) error) error {
		var i int
		var doc []byte
		if err := scan(&i, &doc); err != nil {
			return err
		}
		docs[i] = doc
		return nil
	})
}

// Related asks for the records that a @hasMany relation leads to from each of
// several parents.
type Related struct {
	Relation *schema.Relation
	Parents  []string // their ids
	Limit    int      // of records for each parent; 0 for none at all
	Owner    string   // not empty: only records that this subject owns
}

// Related returns, for each parent in their order, the records that belong to
// it, newest first: by descending id of the record, or of the record in between
// where the relation goes through one. A record in between whose target is gone
// or is not the owner's is left out and does not count. It is one statement,
// however many parents there are. Its price is the records that it returns and
// those that it leaves out on the way to them. Neither the lists nor the records
// may be modified.
func (v *View) Related(ctx context.Context, q Related) ([][][]byte, error) {
	if len(q.Parents) == 0 || q.Limit <= 0 {
		return make([][][]byte, len(q.Parents)), nil
	}
	tables, err := v.tablesOf(q.Relation)
	if err != nil {
		return nil, err
	}
	found, err := v.recall(ctx, q.key(), tables, func() (found remembered, err error) {
		found.lists, err = v.related(ctx, tables, q)
		return found, err
	})
	return found.lists, err
}

// tablesOf returns the tables that a relation's lists are made from.
func (v *View) tablesOf(rel *schema.Relation) ([]*table, error) {
	target, err := v.table(rel.Target.Name)
	if err != nil || rel.Through == nil {
		return []*table{target}, err
	}
	between, err := v.table(rel.Through.Name)
	return []*table{target, between}, err
}

// related reads the lists from SQLite.
func (v *View) related(ctx context.Context, tables []*table, q Related) ([][][]byte, error) {
	lists := make([][][]byte, len(q.Parents))
	rel := q.Relation
	query, err := v.relatedSQL(rel, q.Owner != "")
	if err != nil || query == "" {
		return lists, err
	}
	parents, err := json.Marshal(q.Parents)
	if err != nil {
		return nil, err
	}
	args := []any{string(parents), int64(q.Limit)}
	if q.Owner != "" {
		args = append(args, q.Owner)
	}
	if err := v.settle(ctx, tables...); err != nil {
		return nil, fmt.Errorf("related %s: %w", rel.Target.Name, err)
	}
	r, err := v.reader(ctx)
	if err != nil {
		return nil, fmt.Errorf("related %s: %w", rel.Target.Name, err)
	}
	defer v.giveBack(r)
	err = r.query(ctx, query, args, func(scan func(...any) error) error {
		var parent int
		var doc []byte
		if err := scan(&parent, &doc); err != nil {
			return err
		}
		lists[parent] = append(lists[parent], doc)
		return nil
	})
	if err != nil {
		return nil, v.failed(ctx, "related "+rel.Target.Name, err)
	}
	return lists, nil
}

// relatedSQL composes the statement: for each parent its newest rows from the
// index, then their documents. Parameters: 1 the parents, 2 the limit, 3 the
// owner. It is empty when nobody can own a target.
func (v *View) relatedSQL(rel *schema.Relation, owned bool) (string, error) {
	target, err := v.table(rel.Target.Name)
	if err != nil {
		return "", err
	}
	condition := ""
	if owned {
		if target.owner == nil {
			return "", nil
		}
		condition = " AND t." + target.owner.name + " = ?3"
	}
	if rel.Through != nil {
		return v.throughSQL(rel, target, condition)
	}
	key := target.byField[rel.Field]
	if key == nil {
		return "", fmt.Errorf("%s has no field %q to follow", rel.Target.Name, rel.Field)
	}
	return strings.NewReplacer("{T}", target.name, "{key}", key.name, "{condition}", condition).Replace(
		`SELECT j.key, d.doc FROM json_each(?1) j CROSS JOIN {T} d
		WHERE d.rowid IN (SELECT t.rowid FROM {T} t WHERE t.{key} = j.value{condition} ORDER BY t.id DESC LIMIT ?2)
		ORDER BY j.key, d.id DESC`), nil
}

func (v *View) throughSQL(rel *schema.Relation, target *table, condition string) (string, error) {
	between, err := v.table(rel.Through.Name)
	if err != nil {
		return "", err
	}
	key, far := between.byField[rel.Field], between.byField[rel.TargetField]
	if key == nil || far == nil {
		return "", fmt.Errorf("%s has no fields %q and %q to follow", rel.Through.Name, rel.Field, rel.TargetField)
	}
	return strings.NewReplacer("{T}", target.name, "{H}", between.name, "{key}", key.name, "{far}", far.name, "{condition}", condition).Replace(
		`SELECT j.key, d.doc FROM json_each(?1) j CROSS JOIN {H} g CROSS JOIN {T} d ON d.id = g.{far}
		WHERE g.rowid IN (SELECT h.rowid FROM {H} h CROSS JOIN {T} t ON t.id = h.{far} WHERE h.{key} = j.value{condition} ORDER BY h.id DESC LIMIT ?2)
		ORDER BY j.key, g.id DESC`), nil
}
