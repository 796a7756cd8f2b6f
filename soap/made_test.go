package soap_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/soap"
)

const letterbox = `
type Letter @resource @auth(requires: [ADMIN], on: [READ]) @auth(requires: [ANYONE], on: [CREATE]) {
  id: ID!
  text: String!
}
`

func TestAChangeThatMayNotBeReadIsNoFault(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(letterbox)}})
	o := soap.Options{TrustTransport: true, Address: "http://localhost"}
	serve(t, s, o)
	await(t, s)
	w := &world{Service: s, url: edge(t, s, o)}
	resp, body := w.post(t, map[string][]string{"Content-Type": {"text/xml"}},
		`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService"><s:Body><t:CreateLetter><t:input><t:text>hello</t:text></t:input></t:CreateLetter></s:Body></s:Envelope>`)
	for _, want := range []string{
		`<tns:Errors><tns:error><tns:code>FORBIDDEN</tns:code><tns:message>the Letter was created, but you may not read it</tns:message>`,
		`<tns:CreateLetterResponse></tns:CreateLetterResponse>`,
	} {
		if resp.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%d, want %s in\n%s", resp.StatusCode, want, body)
		}
	}
	engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client.WaitFor(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r := engine.Execute(t.Context(), auth.Principal{Subject: "root", Roles: schema.Admin}, graphql.Request{Query: `{ letters { totalCount } }`})
	if got := string(r.Body); got != `{"data":{"letters":{"totalCount":1}}}` {
		t.Error(got)
	}
}
