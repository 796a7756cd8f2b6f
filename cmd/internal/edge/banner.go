package edge

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tidings/cmd/internal/boot"
	"tidings/schema"
)

// banner prints, once the service answers, what a newcomer needs to try it:
// each block can be pasted into a shell as it stands.
func banner(ctx context.Context, w io.Writer, c boot.Config, e *edge) error {
	if e.rooms.Started(ctx) != nil {
		return nil // stopped before it began
	}
	text, err := bannerText(ctx, c, e)
	if err != nil {
		return err
	}
	fmt.Fprint(w, text)
	<-ctx.Done()
	return nil
}

func bannerText(ctx context.Context, c boot.Config, e *edge) (string, error) {
	user, err := c.DevToken("alice", "USER", 24*time.Hour)
	if err != nil {
		return "", err
	}
	admin, err := c.DevToken("root", "ADMIN", 24*time.Hour)
	if err != nil {
		return "", err
	}
	now, done := e.rooms.Use()
	defer done()
	service := c.PublicURL + now.Gateway.Path()
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("")
	p("Tidings is running in development mode with the schema in %s.", c.Schema)
	p("")
	p("  GraphQL, WebSocket, SSE  %s/graphql", c.PublicURL)
	p("  in a browser             the same: GraphiQL, with examples that run and a field for the token")
	p("  SOAP (WSDL)              %s?wsdl", service)
	if e.consoleURL != "" {
		p("  Console of operators     %s (sign in with the administrator's token below)", e.consoleURL)
	}
	const who = "\n# %s: a user and an administrator, for a day\nUSER_TOKEN=%s\nADMIN_TOKEN=%s"
	if now.Model.Resource("User") != nil && now.Model.Resource("Post") != nil {
		b.WriteString(socialWatch(c.PublicURL))
		p(who, "In the second terminal, who you are", user, admin)
		b.WriteString(socialBanner(c.PublicURL, service, e.namespace, e.rooms.Partner, func(id string) bool {
			found, err := now.View.Get(ctx, "User", []string{id})
			return err == nil && found[0] != nil
		}))
	} else {
		p(who, "In every terminal, who you are", user, admin)
		b.WriteString(ownBanner(c, now.Model))
	}
	p("")
	return b.String(), nil
}

// ownBanner shows the first type of a schema, by the command line.
func ownBanner(c boot.Config, m *schema.Model) string {
	var b strings.Builder
	if r := m.First; r != nil {
		token := ` --token "$ADMIN_TOKEN"`
		switch {
		case r.Auth[schema.Read].Roles.Has(schema.Anyone):
			token = ""
		case r.Auth[schema.Read].Allows(schema.User, true):
			token = ` --token "$USER_TOKEN"`
		}
		fmt.Fprintf(&b, `
# Watch (leave it running), and read, in other terminals
tidings watch 'subscription { %[1]sChanged { kind id } }' --url %[3]s%[4]s
tidings query '{ %[2]s { totalCount } }' --url %[3]s%[4]s
`, r.Singular, r.Plural, c.PublicURL, token)
	}
	fmt.Fprintf(&b, "\n# The contract that clients see\ntidings schema print --schema %s\n", c.Schema)
	return b.String()
}

// socialWatch comes before the tokens: it needs none, and the terminal in which it
// runs is not the one in which they are wanted.
func socialWatch(base string) string {
	return fmt.Sprintf(`
# Watch (leave it running, open a second terminal for the rest)
curl -N -H 'Accept: text/event-stream' -G %s/graphql \
  --data-urlencode 'query=subscription { userChanged { kind cursor user { id name } } }'
`, base)
}

// socialBanner shows the walks on the example schema. What exists from an
// earlier run is changed instead of created.
func socialBanner(base, service, namespace string, partner boot.DevAccount, exists func(id string) bool) string {
	mutation := `createUser(input: {name: \"Alice\", email: \"alice@example.com\"})`
	if exists("alice") {
		mutation = `updateUser(input: {id: \"alice\", name: \"Alice Again\"})`
	}
	call := `<t:CreateUser><t:input><t:name>Partner</t:name><t:email>partner@example.com</t:email></t:input></t:CreateUser>`
	if exists("partner") {
		call = `<t:UpdateUser><t:input><t:id>partner</t:id><t:name>Partner Again</t:name></t:input></t:UpdateUser>`
	}
	return fmt.Sprintf(`
# Mutate: it shows in the first terminal
curl -sw '\n' %[1]s/graphql -H "Authorization: Bearer $USER_TOKEN" -H 'Content-Type: application/json' \
  -d '{"query":"mutation { %[6]s { id name createdAt } }"}'

# Query: anonymous callers see the name, and that the email is not for them
curl -sw '\n' %[1]s/graphql -H 'Content-Type: application/json' \
  -d '{"query":"{ user(id: \"alice\") { name email } }"}'

# SOAP: it shows in the first terminal, too
curl -sw '\n' %[2]s -H 'Content-Type: text/xml; charset=utf-8' -d '
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="%[3]s">
  <soap:Header><wsse:Security xmlns:wsse="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd">
    <wsse:UsernameToken><wsse:Username>%[4]s</wsse:Username><wsse:Password>%[5]s</wsse:Password></wsse:UsernameToken>
  </wsse:Security></soap:Header>
  <soap:Body>%[7]s</soap:Body>
</soap:Envelope>'
`, base, service, namespace, partner.User, partner.Password, mutation, call)
}
