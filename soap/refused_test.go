package soap_test

import (
	"strings"
	"testing"

	"tidings/bus"
)

// A refusal travels as an envelope like any other, and one item of a batch beside
// others that were carried out. So that the bus holds it back while another worker
// may still carry the call out, the answer says that something was refused.
func TestAnEnvelopeThatRefusesSaysSoToTheBus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	const good, bad = "<title>a</title>", "<title></title>"
	for name, c := range map[string]struct{ body, header, refused string }{
		"a change that is made":              {"<CreatePost><input>" + good + "</input></CreatePost>", "", ""},
		"a change that is not":               {"<UpdatePost><input><id>nobody</id>" + good + "</input></UpdatePost>", "", "1"},
		"an envelope that cannot be read":    {"<Create", "", "1"},
		"what there is not":                  {"<GetPost><id>nobody</id></GetPost>", "", ""},
		"a batch":                            {batch("CreatePosts", "", good, good), "", ""},
		"a batch of which one is refused":    {batch("CreatePosts", "", good, bad), "", "1"},
		"a batch that is made":               {batch("CreatePosts", "true", good, good), "", ""},
		"a batch that is not":                {batch("UpdatePosts", "true", "<id>nobody</id>"+good), "", "1"},
		"a batch with an item not read":      {batch("CreatePosts", "true", good, "<other/>"), "", "1"},
		"a batch that is not, under its key": {batch("UpdatePosts", "true", "<id>no</id>"+good), strings.Replace(key, "%s", "refused", 1), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := bus.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "alice")}}
			envelope := `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Header>` + c.header + `</s:Header><s:Body>` + c.body + `</s:Body></s:Envelope>`
			for range 2 { // the second time, under a key, it is the answer that was kept
				m, err := w.Bus.Call(t.Context(), w.Bus.Subjects().SOAP("v1", "SocialService"), h, []byte(envelope))
				if err != nil || m.Header.Get(bus.HeaderRefused) != c.refused {
					t.Errorf("%s, %v: %q", m.Data, err, m.Header.Get(bus.HeaderRefused))
				}
			}
		})
	}
}
