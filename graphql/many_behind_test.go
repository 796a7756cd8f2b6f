package graphql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/view"
)

// A transaction has happened, and the view of the process that is to tell what it
// came to stands still: it waits for the view once, and does not keep what it
// could not tell.
func TestManyTogetherWaitOnceForAViewThatStandsStill(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	whole := resourcetest.On(t, b, socialDir(t), resource.FeedOptions{})
	v, err := view.Open(t.Context(), whole.Model, b.LogID(), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	feed := resource.NewFeed(b, whole.Model, v, resource.FeedOptions{})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { _ = feed.Run(ctx); close(stopped) }()
	<-feed.Ready()
	stop()
	<-stopped
	kept := answers(t, b)
	const timeout = time.Second
	still := (&service{Service: &resourcetest.Service{Bus: b, Model: whole.Model, View: v, Feed: feed, Client: resource.NewClient(b, whole.Model, v, feed)}}).
		with(t, graphql.Options{Timeout: timeout, Answers: kept})
	m := graphql.Many{Together: true, Request: graphql.Request{IdempotencyKey: "k", Query: `mutation($title: String!) { createPost(input: {title: $title}) { title author { id } } }`}}
	for i := range 30 {
		m.Variables = append(m.Variables, fmt.Appendf(nil, `{"title":"p%d"}`, i))
	}
	begun := time.Now()
	first := still.engine.ExecuteMany(t.Context(), ada, m)
	if took := time.Since(begun); took > 15*timeout {
		t.Errorf("it took %s", took)
	}
	if first.Refused != nil || first.Undone || !strings.Contains(string(first.Items[29]), `"position"`) {
		t.Errorf("%s", bodies(first))
	}
	again := (&service{Service: whole}).with(t, graphql.Options{Answers: kept}).engine.ExecuteMany(t.Context(), ada, m)
	if again.Refused != nil || strings.Contains(bodies(again), "TIMEOUT") || !strings.Contains(string(again.Items[29]), `"title":"p29"`) {
		t.Errorf("again: %s", bodies(again))
	}
	if n := still.end(t); n != 30 {
		t.Errorf("%d posts were written", n)
	}
}
