// Command seed fills the service with the records of the benchmarks, writes them
// down for the other servers, and makes sure that all servers answer alike.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

const (
	users = 50
	posts = 10
)

func main() {
	token := flag.String("token", "", "bearer token for the first server")
	out := flag.String("out", "", "file to write the records to; empty: compare the servers' answers")
	flag.Parse()
	work := func() error { return compare(*token, flag.Args()) }
	if *out != "" {
		work = func() error { return fill(flag.Arg(0), *token, *out) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func fill(url, token, out string) error {
	for u := range users {
		id := fmt.Sprintf("user-%04d", u)
		if _, err := ask(url, token, `mutation($in: CreateUserInput!){createUser(input:$in){id}}`, map[string]any{"in": map[string]any{
			"id": id, "name": fmt.Sprintf("User number %d", u), "email": fmt.Sprintf("user%d@example.org", u),
			"adminNotes": "Joined by invitation.", "avatar": fmt.Sprintf("https://example.org/avatars/%d.png", u),
		}}); err != nil {
			return err
		}
		for p := range posts {
			if _, err := ask(url, token, `mutation($in: CreatePostInput!){createPost(input:$in){id}}`, map[string]any{"in": map[string]any{
				"authorId": id, "title": fmt.Sprintf("Post %d of user %d, with a title of some length", p, u), "excerpt": "What it says in short.",
				"body": "What it says in full: a paragraph of plain text, as people write it.", "kind": "NOTE", "tags": []string{"first", "second"}, "minutes": p%9 + 1,
			}}); err != nil {
				return err
			}
		}
	}
	data, err := ask(url, token, `{users(first:50){nodes{id name email adminNotes avatar createdAt posts(limit:10){id authorId title excerpt body kind tags minutes createdAt updatedAt}}}}`, nil)
	if err != nil {
		return err
	}
	var page struct {
		Users struct{ Nodes json.RawMessage }
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return err
	}
	return os.WriteFile(out, page.Users.Nodes, 0o600)
}

func compare(token string, urls []string) error {
	for _, q := range []struct {
		query     string
		variables map[string]any
	}{
		{`query($id: ID!){user(id: $id){id name email adminNotes avatar createdAt}}`, map[string]any{"id": "user-0007"}},
		{`query($n: Int){users(first: $n){nodes{id name avatar createdAt posts(limit:5){id title kind minutes createdAt}}}}`, map[string]any{"n": 20}},
	} {
		var want []byte
		for i, url := range urls {
			got, err := ask(url, token, q.query, q.variables)
			if err != nil {
				return err
			}
			if i == 0 {
				want = got
			} else if !bytes.Equal(got, want) {
				return fmt.Errorf("%s answers\n%s\nwant\n%s", url, got, want)
			}
		}
	}
	return nil
}

func ask(url, token, query string, variables map[string]any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest("POST", url, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var answer struct{ Data, Errors json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s answers %.200s", url, raw)
	}
	if answer.Errors != nil {
		return nil, errors.New(string(answer.Errors))
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, answer.Data)
	return compact.Bytes(), err
}
