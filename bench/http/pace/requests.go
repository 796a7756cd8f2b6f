package main

import (
	"fmt"
	"net/url"
	"os"
)

// The same texts as in load.lua.
const (
	object = `query($id: ID!){user(id: $id){id name email adminNotes avatar createdAt}}`
	list   = `query($n: Int){users(first: $n){nodes{id name avatar createdAt posts(limit:5){id title kind minutes createdAt}}}}`
	post   = `mutation($in: CreatePostInput!){createPost(input:$in){id authorId title kind createdAt}}`
	user   = `mutation($in: CreateUserInput!){createUser(input:$in){id name email createdAt}}`
)

// requests returns what gives the requests of a case, each whole, in turn.
func requests(o options, u *url.URL) (func() []byte, error) {
	texts := make([][]byte, 50)
	for i := range texts {
		author := fmt.Sprintf("user-%04d", i)
		switch o.kind {
		case "object":
			texts[i] = o.post(u, object, `{"id":"`+author+`"}`)
		case "list":
			texts[i] = o.post(u, list, `{"n":20}`)
		case "apq":
			texts[i] = o.get(u, `{"id":"`+author+`"}`)
		case "post":
			texts[i] = o.post(u, post, `{"in":{"authorId":"`+author+`","title":"A title of some length","body":"What it says in full: a paragraph of plain text.","kind":"NOTE"}}`)
		case "user": // new ones, below
		default:
			return nil, fmt.Errorf("there is no case %q", o.kind)
		}
	}
	n := 0
	return func() []byte {
		n++
		if o.kind == "user" {
			id := fmt.Sprintf("p%d-%d", os.Getpid(), n)
			return o.post(u, user, fmt.Sprintf(`{"in":{"id":"%s","name":"User","email":"%s@example.org"}}`, id, id))
		}
		return texts[n%len(texts)]
	}, nil
}

func (o options) post(u *url.URL, query, variables string) []byte {
	body := `{"query":"` + query + `","variables":` + variables + `}`
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		u.Path, u.Host, o.bearer(), len(body), body)
}

func (o options) get(u *url.URL, variables string) []byte {
	q := url.Values{"variables": {variables}, "extensions": {`{"persistedQuery":{"version":1,"sha256Hash":"` + o.hash + `"}}`}}
	return fmt.Appendf(nil, "GET %s?%s HTTP/1.1\r\nHost: %s\r\n%sApollo-Require-Preflight: true\r\n\r\n", u.Path, q.Encode(), u.Host, o.bearer())
}

func (o options) bearer() string {
	if o.token == "" {
		return ""
	}
	return "Authorization: Bearer " + o.token + "\r\n"
}
