package view

import (
	"context"
	"fmt"
	"strings"

	"tidings/schema"
)

// table returns the table of a resource.
func (s set) table(typ string) (*table, error) {
	if t := s.tables[typ]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("the model has no resource %q", typ)
}

// Get is View.Get.
func (s *Shared) Get(ctx context.Context, typ string, ids []string) ([][]byte, error) {
	t, err := s.table(typ)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var docs [][]byte
	query := "SELECT j.n, t.doc FROM unnest(?::bytea[]) WITH ORDINALITY j(id, n) JOIN " + t.name + " t ON t.id = j.id"
	err = s.read(ctx, "get "+typ, func(ctx context.Context, r *reading) error {
		docs = make([][]byte, len(ids))
		if len(ids) == 1 {
			return r.query(ctx, t.get, []any{marked(ids[0])}, func(scan func(...any) error) error { return scan(&docs[0]) })
		}
		return r.query(ctx, query, []any{allMarked(ids)}, func(scan func(...any) error) error {
			var i int
			var doc []byte
			err := scan(&i, &doc)
			if err == nil {
				docs[i-1] = doc
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

func allMarked(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, s := range texts {
		all[i] = marked(s)
	}
	return all
}

// List is View.List.
func (s *Shared) List(ctx context.Context, q Query) (page Page, err error) {
	l, err := s.listing(q)
	if err != nil {
		return Page{}, err
	}
	err = s.read(ctx, "list "+q.Type, func(ctx context.Context, r *reading) error {
		l.guide = nil
		page, err = l.read(ctx, r)
		return err
	})
	if err != nil {
		return Page{}, err
	}
	return page, nil
}

func (s *Shared) listing(q Query) (*listing, error) {
	t, err := s.table(q.Type)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return newListing(t, q)
}

// ListAt is View.ListAt.
func (s *Shared) ListAt(ctx context.Context, q Query) (page Page, position uint64, err error) {
	l, err := s.listing(q)
	if err != nil {
		return Page{}, 0, err
	}
	at := "SELECT position FROM " + s.meta()
	err = s.read(ctx, "list "+q.Type, func(ctx context.Context, r *reading) error {
		return r.snapshot(ctx, func(ctx context.Context) error {
			l.guide = nil
			n, err := r.number(ctx, at, nil)
			if err != nil {
				return err
			}
			position = uint64(n)
			page, err = l.readHere(ctx, r)
			return err
		})
	})
	if err != nil {
		return Page{}, 0, err
	}
	return page, position, nil
}

// Count is View.Count.
func (s *Shared) Count(ctx context.Context, typ string, f *Filter, owner string) (int, error) {
	t, err := s.table(typ)
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	w, err := t.count(f, owner)
	if err != nil {
		return 0, err
	}
	return s.number(ctx, "count "+typ, w)
}

// CountTo is View.CountTo.
func (s *Shared) CountTo(ctx context.Context, typ string, f *Filter, owner string, most int) (int, error) {
	t, err := s.table(typ)
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	w, err := t.countTo(f, owner, most)
	if err != nil {
		return 0, err
	}
	return s.number(ctx, "count "+typ, w)
}

func (s *Shared) number(ctx context.Context, doing string, w *where) (n int, err error) {
	err = s.read(ctx, doing, func(ctx context.Context, r *reading) error {
		n, err = r.number(ctx, w.sql.String(), w.args)
		return err
	})
	return n, err
}

// Related is View.Related.
func (s *Shared) Related(ctx context.Context, q Related) ([][][]byte, error) {
	lists := make([][][]byte, len(q.Parents))
	if len(q.Parents) == 0 || q.Limit <= 0 {
		return lists, nil
	}
	query, err := s.relatedSQL(q)
	if err != nil || query == "" {
		return lists, err
	}
	args := []any{allMarked(q.Parents)}
	if q.Owner != "" {
		args = append(args, textKey(q.Owner))
	}
	args = append(args, int64(q.Limit))
	err = s.read(ctx, "related "+q.Relation.Target.Name, func(ctx context.Context, r *reading) error {
		lists = make([][][]byte, len(q.Parents))
		return r.query(ctx, query, args, func(scan func(...any) error) error {
			var parent int
			var doc []byte
			err := scan(&parent, &doc)
			if err == nil {
				lists[parent-1] = append(lists[parent-1], doc)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return lists, nil
}

// relatedSQL composes the statement: for each parent its newest rows from the
// index. It is empty when there can be no list.
func (s *Shared) relatedSQL(q Related) (string, error) {
	rel := q.Relation
	target, err := s.table(rel.Target.Name)
	if err != nil {
		return "", err
	}
	condition := ""
	if q.Owner != "" {
		if target.owner == nil {
			return "", nil
		}
		condition = " AND t." + target.owner.name + " = ?"
	}
	if rel.Through != nil {
		return s.throughSQL(rel, target, condition)
	}
	key := target.byField[rel.Field]
	if key == nil {
		return "", fmt.Errorf("%s has no field %q to follow", rel.Target.Name, rel.Field)
	}
	if numeric(key.field.Kind) {
		return "", nil // no number is an id
	}
	return strings.NewReplacer("{T}", target.name, "{key}", key.name, "{condition}", condition).Replace(
		`SELECT j.n, d.doc FROM unnest(?::bytea[]) WITH ORDINALITY j(id, n) CROSS JOIN LATERAL
		(SELECT t.id, t.doc FROM {T} t WHERE t.{key} = j.id{condition} ORDER BY t.id DESC LIMIT ?) d
		ORDER BY j.n, d.id DESC`), nil
}

func (s *Shared) throughSQL(rel *schema.Relation, target *table, condition string) (string, error) {
	between, err := s.table(rel.Through.Name)
	if err != nil {
		return "", err
	}
	key, far := between.byField[rel.Field], between.byField[rel.TargetField]
	if key == nil || far == nil {
		return "", fmt.Errorf("%s has no fields %q and %q to follow", rel.Through.Name, rel.Field, rel.TargetField)
	}
	if numeric(key.field.Kind) || numeric(far.field.Kind) {
		return "", nil
	}
	return strings.NewReplacer("{T}", target.name, "{H}", between.name, "{key}", key.name, "{far}", far.name, "{condition}", condition).Replace(
		`SELECT j.n, d.doc FROM unnest(?::bytea[]) WITH ORDINALITY j(id, n) CROSS JOIN LATERAL
		(SELECT h.id, t.doc FROM {H} h JOIN {T} t ON t.id = h.{far} WHERE h.{key} = j.id{condition} ORDER BY h.id DESC LIMIT ?) d
		ORDER BY j.n, d.id DESC`), nil
}
