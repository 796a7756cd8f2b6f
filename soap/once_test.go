package soap_test

import (
	"strings"
	"testing"

	"tidings/bus"
)

// All who are anonymous have one name, which is none: who guesses another one's
// key must neither get the answer to it nor be in its way.
func TestKeysOfAnonymousCallersAreThoseOfTheirAddress(t *testing.T) {
	t.Parallel()
	w := seatWorld(t, trusting)
	seat := func(address, header string) string {
		h := bus.Header{"Content-Type": {"text/xml"}, "Tidings-Client": {address}}
		envelope := `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Header>` + header + `</s:Header><s:Body><CreateSeat><input><n>1</n></input></CreateSeat></s:Body></s:Envelope>`
		m, err := w.Bus.Call(t.Context(), w.Bus.Subjects().SOAP("v1", "SocialService"), h, []byte(envelope))
		if err != nil {
			t.Fatal(err)
		}
		id := oneChild(string(m.Data), "id")
		if id == "" {
			t.Fatalf("%s", m.Data)
		}
		return id
	}
	const wsa = "http://www.w3.org/2005/08/addressing"
	for name, header := range map[string]string{
		"key":     strings.Replace(key, "%s", "k", 1),
		"message": `<a:MessageID xmlns:a="` + wsa + `">urn:m</a:MessageID><a:Action xmlns:a="` + wsa + `">CreateSeat</a:Action>`,
	} {
		first := seat("2001:db8:1:1::1", header)
		if again := seat("2001:db8:1:1::2", header); again != first {
			t.Errorf("%s: sent again, it made another seat", name)
		}
		if other := seat("2001:db8:1:2::1", header); other == first {
			t.Errorf("%s: somebody else got the answer", name)
		}
	}
}
