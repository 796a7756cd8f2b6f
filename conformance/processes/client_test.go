//go:build conformance

package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// call is one GraphQL request, in the form in which every transport carries it.
type call struct {
	Query      string         `json:"query"`
	Variables  map[string]any `json:"variables,omitempty"`
	Extensions map[string]any `json:"extensions,omitempty"`
}

// resume asks for the events after a cursor.
func (c call) resume(cursor string) call {
	if cursor != "" {
		c.Extensions = map[string]any{"cursor": cursor}
	}
	return c
}

// cursor is where the call resumes; empty: from now.
func (c call) cursor() string {
	cursor, _ := c.Extensions["cursor"].(string)
	return cursor
}

// result is a GraphQL response.
type result struct {
	Data       json.RawMessage `json:"data"`
	Errors     []graphQLError  `json:"errors"`
	Extensions struct {
		Cursor   string `json:"cursor"`
		Position string `json:"position"`
	} `json:"extensions"`
}

type graphQLError struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

func (e graphQLError) Error() string { return e.Extensions.Code + ": " + e.Message }

// err is the first error of a result; nil when there is none.
func (r result) err() error {
	if len(r.Errors) == 0 {
		return nil
	}
	return r.Errors[0]
}

// anybody is the token of callers who need not be known.
const anybody = ""

// client sends requests and gives up when it was not answered in time.
var client = http.Client{Timeout: 4 * time.Second}

// post sends one request to an api's /graphql. The error says why there is no
// data without errors; whether a mutation was carried out, it does not say.
func post(ctx context.Context, base, token string, c call) (json.RawMessage, error) {
	r, err := postAll(ctx, base, token, c)
	if err != nil {
		return nil, err
	}
	return r.Data, r.err()
}

// postAll returns the whole response.
func postAll(ctx context.Context, base, token string, c call) (r result, err error) {
	req, err := graphqlRequest(ctx, base, token, c)
	if err != nil {
		return r, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%s: %.200q: %w", resp.Status, body, err)
	}
	return r, nil
}

func graphqlRequest(ctx context.Context, base, token string, c call) (*http.Request, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// mustPost is post where no error is expected.
func mustPost(t testing.TB, base, token string, c call, into any) {
	t.Helper()
	data, err := post(t.Context(), base, token, c)
	if err != nil {
		t.Fatalf("%s: %v", c.Query, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %s: %v", c.Query, data, err)
	}
}

// record is a Post or a User, as far as the tests look at it.
type record struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// list reads every record of a kind, "posts" or "users", page by page.
func list(ctx context.Context, base, token, kind, fields string) (map[string]record, error) {
	all := map[string]record{}
	for after := ""; ; {
		c := call{
			Query:     `query ($after: String) { list: ` + kind + `(first: 100, after: $after) { nodes { ` + fields + ` } pageInfo { hasNextPage endCursor } } }`,
			Variables: map[string]any{"after": nil},
		}
		if after != "" {
			c.Variables["after"] = after
		}
		data, err := post(ctx, base, token, c)
		if err != nil {
			return nil, err
		}
		var page struct {
			List struct {
				Nodes    []record `json:"nodes"`
				PageInfo struct {
					HasNextPage bool   `json:"hasNextPage"`
					EndCursor   string `json:"endCursor"`
				} `json:"pageInfo"`
			} `json:"list"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, err
		}
		for _, r := range page.List.Nodes {
			if _, twice := all[r.ID]; twice {
				return nil, fmt.Errorf("%s is in the list twice", r.ID)
			}
			all[r.ID] = r
		}
		if !page.List.PageInfo.HasNextPage {
			return all, nil
		}
		after = page.List.PageInfo.EndCursor
	}
}

// partner is the development account for SOAP, as the banner shows it.
type partner struct{ user, password string }

// Both are printed in the SOAP call of the banner.
var bannerAccount = regexp.MustCompile(`<wsse:Username>([^<]+)</wsse:Username><wsse:Password[^>]*>([^<]+)</wsse:Password>`)

func readPartner(t testing.TB, a *api) partner {
	t.Helper()
	var p partner
	poll(t, 10*time.Second, "the banner shows the account for SOAP", func() error {
		m := bannerAccount.FindStringSubmatch(a.output(t))
		if m == nil {
			return fmt.Errorf("no account in the output")
		}
		p = partner{m[1], m[2]}
		return nil
	})
	return p
}

// soap calls an operation of the service and returns the answer's body.
func soap(t testing.TB, base string, p partner, operation, input string) string {
	t.Helper()
	status, body := soapPost(t, base, envelope(namespace(t, base), p, operation, input))
	if status != http.StatusOK {
		t.Fatalf("SOAP %s: %d: %s", operation, status, body)
	}
	return body
}

// soapShows calls an operation until its answer holds a text: any worker answers, and
// one of them may not have read yet of what another process has told.
func soapShows(t testing.TB, base string, p partner, operation, input, want string) {
	t.Helper()
	space := namespace(t, base)
	poll(t, patience, "SOAP shows "+want, func() error {
		if status, body := soapPost(t, base, envelope(space, p, operation, input)); !strings.Contains(body, want) {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
}

func envelope(namespace string, p partner, operation, input string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="` + namespace + `">
<s:Header><w:Security xmlns:w="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"><w:UsernameToken>
<w:Username>` + p.user + `</w:Username><w:Password>` + p.password + `</w:Password></w:UsernameToken></w:Security></s:Header>
<s:Body><t:` + operation + `>` + input + `</t:` + operation + `></s:Body></s:Envelope>`
}

func soapPost(t testing.TB, base, envelope string) (status int, body string) {
	t.Helper()
	resp, err := client.Post(base+"/v1/SocialService", "text/xml; charset=utf-8", strings.NewReader(envelope))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

var targetNamespace = regexp.MustCompile(`targetNamespace="([^"]+)"`)

// namespace reads the service's namespace from its WSDL.
func namespace(t testing.TB, base string) string {
	t.Helper()
	resp, err := client.Get(base + "/v1/SocialService?wsdl")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	wsdl, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := targetNamespace.FindSubmatch(wsdl)
	if m == nil {
		t.Fatalf("no WSDL: %s: %.300s", resp.Status, wsdl)
	}
	return string(m[1])
}
