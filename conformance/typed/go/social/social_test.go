package social_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/conformance/typed/go/live"
	"tidings/conformance/typed/go/social"
)

// service is where the service runs.
func service(t *testing.T) string {
	t.Helper()
	url := os.Getenv("SOCIAL_URL")
	if url == "" {
		t.Skip("conformance/typed runs this with a service: make conformance")
	}
	return url
}

func TestWhatIsAskedForHasTheTypeThatItSays(t *testing.T) {
	carl, _ := live.Clients(service(t), os.Getenv("CARL"))
	ctx := t.Context()
	if _, _, err := social.Sign(ctx, carl, &social.CreateUserInput{Name: "Carl", Email: "carl@example.org"}); err != nil {
		t.Fatal(err)
	}
	written, _, err := social.Write(ctx, carl, &social.CreatePostInput{Title: "Engines", Kind: social.PostKindNote, Tags: []string{"steam"}})
	if err != nil {
		t.Fatal(err)
	}
	post := written.CreatePost.Written
	if post.Kind != social.PostKindNote || post.Minutes != nil || !slices.Equal(post.Tags, []string{"steam"}) || time.Since(post.CreatedAt).Abs() > time.Minute*10 {
		t.Errorf("it wrote %+v", post)
	}
	seven := 7
	rewritten, _, err := social.Rewrite(ctx, carl, &social.UpdatePostInput{Id: post.Id, Minutes: &seven})
	if err != nil {
		t.Fatal(err)
	}
	if now := rewritten.UpdatePost.Written; *now.Minutes != 7 || now.Title != "Engines" || now.Kind != social.PostKindNote || len(now.Tags) != 1 {
		t.Errorf("what was not given did not stay: %+v", now)
	}
	read, _, err := social.Author(ctx, carl, "carl", nil)
	if err != nil {
		t.Fatal(err)
	}
	if read.User.Name != "Carl" || read.User.Avatar != nil || read.Posts.TotalCount != 1 || read.Posts.Nodes[0].Id != post.Id || *read.Posts.Nodes[0].Author != (social.WrittenAuthorUser{Name: "Carl"}) {
		t.Errorf("it read %+v", read)
	}
}

func TestAFieldThatIsRefusedIsNilAndSaysWhy(t *testing.T) {
	dora, _ := live.Clients(service(t), os.Getenv("DORA"))
	data, _, err := social.Private(t.Context(), dora, "carl")
	var list gqlerror.List
	if !errors.As(err, &list) {
		t.Fatalf("%v", err)
	}
	refused := map[string]any{}
	for _, e := range list {
		refused[e.Path.String()] = e.Extensions["code"]
	}
	if len(refused) != 2 || refused["user.email"] != "FORBIDDEN" || refused["user.adminNotes"] != "FORBIDDEN" {
		t.Errorf("refused: %v", refused)
	}
	if data.User.Name != "Carl" || data.User.Email != nil {
		t.Errorf("the rest: %+v", data.User)
	}
	_, _, err = social.Write(t.Context(), dora, &social.CreatePostInput{Title: strings.Repeat("long", 100)})
	if !errors.As(err, &list) || list[0].Extensions["code"] != "BAD_USER_INPUT" || list[0].Extensions["field"] != "input.title" {
		t.Errorf("a title that is too long: %v", err)
	}
}

func TestASubscriptionMissesNothingWhenItsConnectionEnds(t *testing.T) {
	url := service(t)
	dora, _ := live.Clients(url, os.Getenv("DORA"))
	if _, _, err := social.Sign(t.Context(), dora, &social.CreateUserInput{Name: "Dora", Email: "dora@example.org"}); err != nil {
		t.Fatal(err)
	}
	write := func(title string) string {
		t.Helper()
		written, _, err := social.Write(t.Context(), dora, &social.CreatePostInput{Title: title})
		if err != nil {
			t.Fatal(err)
		}
		return written.CreatePost.Id
	}
	way := relay(t, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/graphql"))
	told := make(chan string, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		author := "dora"
		mine := &social.PostFilter{AuthorId: &social.IDFilter{Eq: &author}}
		err := follow(ctx, "http://"+way.addr+"/graphql", os.Getenv("DORA"), mine, func(kind social.ChangeKind, post *social.Written) {
			if post == nil {
				post = &social.Written{}
			}
			told <- strings.TrimSpace(string(kind) + " " + post.Title)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	defer following.Wait()
	defer cancel()
	for begun := false; !begun; { // what is written before the service has the subscription is not told
		write("warm")
		select {
		case <-told:
			begun = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	way.cut()
	first := write("first")
	write("second")
	if _, _, err := social.Remove(t.Context(), dora, &social.DeletePostInput{Id: first}); err != nil {
		t.Fatal(err)
	}
	write("third")
	want := []string{"CREATED first", "CREATED second", "DELETED", "CREATED third"}
	for _, one := range want {
		got := "CREATED warm"
		for got == "CREATED warm" {
			select {
			case got = <-told:
			case <-time.After(30 * time.Second):
				t.Fatalf("it was not told of %q", one)
			}
		}
		if got != one {
			t.Fatalf("it was told %q, not %q", got, one)
		}
	}
}

// follow tells of what happens to posts until the context ends. A post is nil when it
// was deleted.
func follow(ctx context.Context, url, token string, filter *social.PostFilter, tell func(social.ChangeKind, *social.Written)) (failed error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, sockets := live.Clients(url, token)
	errs, err := sockets.Start(ctx)
	if err != nil {
		return err
	}
	changes, _, err := social.PostChanged(ctx, sockets, filter)
	if err != nil {
		return err
	}
	for {
		select {
		case c := <-changes:
			if c.Errors != nil {
				failed = c.Errors
				cancel() // and take what comes until it has ended
				continue
			}
			change := c.Data.PostChanged
			if change.Post == nil {
				tell(change.Kind, nil)
			} else {
				tell(change.Kind, &change.Post.Written)
			}
		case err := <-errs: // the context has ended, or there will be no other connection
			if failed == nil {
				failed = err
			}
			return failed
		}
	}
}

// A subscription that is refused tells of it like any other error; genqlient alone
// would take it for the end of the connection.
func TestASubscriptionThatIsRefusedSaysWhy(t *testing.T) {
	in := make([]string, 5000) // more than a list may have
	for i := range in {
		in[i] = "x"
	}
	err := follow(t.Context(), service(t), os.Getenv("DORA"), &social.PostFilter{AuthorId: &social.IDFilter{In: in}}, nil)
	var list gqlerror.List
	if !errors.As(err, &list) || list[0].Extensions["code"] == nil {
		t.Errorf("%v", err)
	}
}

// way is a way to the service that can be cut.
type way struct {
	addr string
	mu   sync.Mutex
	open []net.Conn
}

// relay passes connections on to an address until the test ends.
func relay(t *testing.T, to string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{addr: l.Addr().String()}
	var passing sync.WaitGroup
	t.Cleanup(func() { l.Close(); w.cut(); passing.Wait() })
	passing.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, in, out)
			w.mu.Unlock()
			passing.Go(func() { defer in.Close(); _, _ = io.Copy(in, out) })
			passing.Go(func() { defer out.Close(); _, _ = io.Copy(out, in) })
		}
	})
	return w
}

// cut ends all connections.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		c.Close()
	}
	w.open = nil
}
