package soap_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"tidings/fault"
	"tidings/schema"
	"tidings/soap"
)

// museum is a schema with every construct that SOAP shows.
func museum(t testing.TB) *schema.Model {
	t.Helper()
	m, err := schema.Load(os.DirFS("testdata/museum"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Each row: a construct of GraphQL, the XML around it, and what becomes of it.
func TestConstructsBecomeWhatClientsUnderstand(t *testing.T) {
	t.Parallel()
	text, err := soap.WSDL(museum(t), options, false)
	if err != nil {
		t.Fatal(err)
	}
	s := schemaOf(t, text)
	for _, c := range []struct{ construct, typ, want string }{
		// Results: a value that may lack is nil, an object or a list is left out.
		{"ID!", "Painting", `id string 1`},
		{"String!", "Painting", `title string 1`},
		{"Int, under another name", "Painting", `yearOfOrigin int 1 nil`},
		{"Float", "Painting", `height double 1 nil`},
		{"Boolean!", "Painting", `onShow boolean 1`},
		{"DateTime", "Painting", `hungAt dateTime 1 nil`},
		{"Date", "Painting", `painted date 1 nil`},
		{"PositiveInt!", "Painting", `insured PositiveInt 1`},
		{"UUID", "Painting", `code UUID 1 nil`},
		{"URL", "Painting", `page URL 1 nil`},
		{"EmailAddress", "Painting", `contact EmailAddress 1 nil`},
		{"a private field with !", "Painting", `price double 1 nil`},
		{"a hidden field", "Painting", `internal`},
		{"an enum", "Painting", `style Style 1`},
		{"an open enum", "Painting", `condition Condition 1 nil`},
		{"a list", "Painting", `tags StringList 1`},
		{"a list that may lack, of what may lack", "Painting", `ratings IntNullableList 0`},
		{"lists in lists", "Painting", `grid IntListNullableList 0`},
		{"JSON", "Painting", `extra string 1 nil`},
		{"an object inside", "Painting", `frame Frame 0`},
		{"a union", "Painting", `note Note 0`},
		{"a list of a union", "Painting", `notes NoteList 0`},
		{"a related record, included", "Painting", `artist Artist 0`},
		{"a related record", "Painting", `curator ArtistSummary 0`},
		{"a list of records, included", "Painting", `loans LoanSummaryList 1`},
		{"a list of records", "Artist", `pictures`},
		{"a summary leads nowhere", "PaintingSummary", `artist`},
		{"a private field in a summary", "PaintingSummary", `price`},
		{"a field that leads back", "Frame", `inner`},
		{"a field that leads back by another type", "Frame", `layers`},
		{"a member of a union", "Note", `text Text 0`},
		{"a connection", "PaintingConnection", `nodes PaintingList 1`},
		{"its edges", "PaintingConnection", `edges`},
		{"its page", "PaintingConnection", `pageInfo PageInfo 1`},
		{"a cursor", "PageInfo", `endCursor string 1 nil`},
		{"another connection", "TourConnection", `nodes TourList 1`},
		{"its edges", "TourConnection", `edges`},
		{"Long", "Measured", `weight long 1 nil`},
		{"Decimal!", "Measured", `price decimal 1`},
		{"Bytes", "Measured", `scan base64Binary 1 nil`},
		{"Time", "Measured", `at time 1 nil`},
		{"Duration", "Measured", `lasts string 1 nil`},
		{"a scalar of the adopter's", "Measured", `odd string 1 nil`},
		{"one with @specifiedBy", "Measured", `any string 1 nil`},
		{"Long given", "GetMeasured", `weight long 0 nil`},
		{"Duration given", "GetMeasured", `lasts string 0`},
		// Inputs: what need not be given is nillable where programs have values by default.
		{"String! given", "CreatePictureInput", `title string 1`},
		{"String given", "CreatePictureInput", `artistId string 0`},
		{"Int given", "CreatePictureInput", `yearOfOrigin int 0 nil`},
		{"Float given", "CreatePictureInput", `height double 0 nil`},
		{"Boolean! with a default", "CreatePictureInput", `onShow boolean 0 nil`},
		{"an enum with a default", "CreatePictureInput", `style Style 0 nil`},
		{"an object given", "CreatePictureInput", `frame FrameInput 0`},
		{"a list given", "CreatePictureInput", `tags StringList 0`},
		{"hidden, given", "CreatePictureInput", `internal`},
		{"a union given", "NoteInput", `text TextInput 0`},
		{"clearing", "UpdatePictureInput", `fieldsToNull StringList 0`},
		{"no clearing at creation", "CreatePictureInput", `fieldsToNull`},
		{"Int! with a default", "Order", `count int 0 nil`},
		{"String with a default", "Order", `wrap string 0 nil`},
		{"String", "Order", `wish string 0`},
		{"renamed", "Order", `promotionCode string 0`},
		{"hidden", "Order", `audit`},
		{"a list of itself", "Order", `parts`},
		{"@oneOf", "Wanted", `poster Poster 0`},
		{"@oneOf of itself", "Wanted", `either`},
		{"lists in lists given", "Poster", `text StringNullableListNullableList 0`},
		// Root fields of the adopter's.
		{"a leaf", "GetTemperatureResponse", `result double 1 nil`},
		{"a leaf with !", "GetOpenNowResponse", `result boolean 1`},
		{"JSON!", "GetConfigResponse", `result string 1`},
		{"a list of an interface", "SearchTitlesResponse", `result TitledList 0`},
		{"an object", "GetRoomResponse", `result Room 0`},
		{"objects", "ListRoomsResponse", `result RoomList 1`},
		{"a record", "GetBestResponse", `result Painting 0`},
		{"records that may lack", "ListBestsResponse", `result PaintingNullableList 1`},
		{"a matrix", "ListMatrixResponse", `result DoubleNullableListList 0`},
		{"an argument with a default", "GetTemperature", `room int 0 nil`},
		{"a hidden root field", "GetHidden", ``},
		{"a record inside of an object", "Room", `guard ArtistSummary 0`},
		{"a record inside, included", "Room", `best Painting 0`},
		{"records inside of an object", "Room", `pictures`},
		{"records inside, included", "Room", `shown PaintingSummaryList 0`},
		{"what needs an argument", "Room", `sized`},
		{"objects that lead to each other", "Room", `climate`},
		{"an interface of records", "Titled", `picture Painting 0`},
		{"operations on a hidden resource", "GetArtist", ``},
		{"a renamed operation", "FindPictures", `first int 0 nil`},
		// Stored operations.
		{"a variable with a default", "GetPictureWithLoans", `loans int 0 nil`},
		{"an alias", "GetPictureWithLoansResult", `heading string 1`},
		{"what a fragment selects", "GetPictureWithLoansResult", `price double 1 nil`},
		{"a nested list", "GetPictureWithLoansLoansOf", `loans GetPictureWithLoansLoansOfLoansList 1`},
		{"deeper than any type", "GetPictureWithLoansFrameInner", `inner GetPictureWithLoansFrameInnerInner 0`},
		{"a type's name", "GetPictureWithLoansNotesText", `__typename string 1`},
		{"several root fields", "GetOverviewResult", `found GetOverviewFoundList 0`},
		{"a type of an interface", "GetOverviewFoundPicture", `year int 1 nil`},
		{"clearing in a stored operation", "EditPicture", `input UpdatePictureInput 1`},
	} {
		if got := s.row(c.typ, strings.Fields(c.want+" ")); got != c.want && got != "absent" || got == "absent" && strings.Contains(c.want, " ") {
			t.Errorf("%s: %s: %s, want %q", c.construct, c.typ, got, c.want)
		}
	}
}

// row describes an element of a type or of a wrapper: its name, type, minOccurs
// and whether it may be nil.
func (s *xsdSet) row(typ string, want []string) string {
	n := s.types[typ]
	if n == nil {
		n = s.elements[typ]
	}
	if n == nil {
		return "absent"
	}
	for e := range n.all(nsXSD, "element") {
		if len(want) == 0 || e == n || e.attr("name") != want[0] {
			continue
		}
		row := e.attr("name") + " " + e.qname(e.attr("type")).Local + " 1"
		if e.attr("minOccurs") == "0" {
			row = strings.TrimSuffix(row, "1") + "0"
		}
		if e.attr("nillable") == "true" {
			row += " nil"
		}
		return row
	}
	return "absent"
}

func TestPeopleFindInTheWSDLWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	text, err := soap.WSDL(museum(t), options, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<wsdl:documentation>How warm it is inside.\nDeprecated: ask for the climate</wsdl:documentation>",
		"<wsdl:documentation>A picture with what people borrowed of it,\nand who painted it.</wsdl:documentation>",
		`<xsd:complexType name="Painting"><xsd:annotation><xsd:documentation>What hangs in the museum`,
		`<xsd:element name="curatorId" type="xsd:string" nillable="true"><xsd:annotation><xsd:documentation>Deprecated: ask the artist<`,
		`<xsd:enumeration value="ABSTRACT"><xsd:annotation><xsd:documentation>Nothing to be seen.<`,
		`<xsd:enumeration value="REALISTIC"><xsd:annotation><xsd:documentation>Deprecated: nobody does<`,
		`<xsd:documentation>How it is. More values may appear. Today:` + "\nGOOD: As new.\nPOOR<",
		`<xsd:documentation>Exactly one of the elements is present.<`,
		`<xsd:documentation>Exactly one field is given.<`,
		`<xsd:documentation>Default: &quot;none&quot;.<`,
		`<xsd:documentation>Default: 5.<`,
		`<wsdl:message name="ServiceException"><wsdl:part name="fault" element="tns:ServiceFault"/></wsdl:message>`,
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the WSDL lacks %s", want)
		}
	}
}

func TestTheDocumentsOfAllOperationsAreValid(t *testing.T) {
	t.Parallel()
	for _, m := range []*schema.Model{social(t), museum(t)} {
		documents, err := soap.Documents(m)
		if err != nil {
			t.Fatal(err)
		}
		for name, document := range documents {
			if _, errs := gqlparser.LoadQueryWithRules(m.Contract, document, rules.NewDefaultRules()); errs != nil {
				t.Errorf("%s: %v\n%s", name, errs, document)
			}
		}
	}
}

func TestElementsWithNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	c, err := soap.NewCodec(museum(t))
	if err != nil {
		t.Fatal(err)
	}
	_, variables, err := c.Decode([]byte(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><Buy xmlns="urn:tidings:v1:SocialService"><order>`+
		`<what><poster><size>3</size></poster></what><promotionCode>X</promotionCode></order></Buy></s:Body></s:Envelope>`), "text/xml")
	if want := `{"order":{"what":{"poster":{"size":3}},"code":"X"}}`; err != nil || string(variables) != want {
		t.Errorf("%s, %v", variables, err)
	}
	_, err = c.Encode("Buy", []byte(`{"data":null,"errors":[{"message":"m","path":["result"],"extensions":{"code":"BAD_USER_INPUT","field":"orders[1].code"}}]}`))
	if got := fault.Of(err).Field; got != "orders[1].promotionCode" {
		t.Errorf("the fault is at %q: %v", got, err)
	}
	_, _, err = c.Decode([]byte(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><EditPicture xmlns="urn:tidings:v1:SocialService"><input>`+
		`<id>1</id><fieldsToNull><item>year</item></fieldsToNull></input></EditPicture></s:Body></s:Envelope>`), "text/xml")
	if err == nil || !strings.Contains(err.Error(), "year") {
		t.Errorf("a field cleared by the name that GraphQL gives it: %v", err)
	}
	_, variables, err = c.Decode([]byte(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><EditPicture xmlns="urn:tidings:v1:SocialService"><input>`+
		`<id>1</id><fieldsToNull><item>yearOfOrigin</item></fieldsToNull></input></EditPicture></s:Body></s:Envelope>`), "text/xml")
	if want := `{"input":{"id":"1","year":null}}`; err != nil || string(variables) != want {
		t.Errorf("%s, %v", variables, err)
	}
}

func TestCustomaryScalarsAreReadAndWrittenByTheirTypes(t *testing.T) {
	t.Parallel()
	m := museum(t)
	c, err := soap.NewCodec(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct{ scalar, text, json string }{
		{"Long", " +9007199254740993 ", "9007199254740993"}, {"Long", "1.0", ""}, {"Long", "9223372036854775808", ""},
		{"Decimal", " 12.50 ", `"12.50"`}, {"Decimal", "1e3", ""}, {"Decimal", "INF", ""},
		{"Bytes", "AQ\nID", `"AQID"`}, {"Bytes", "A", ""}, {"Time", "08:30:00", `"08:30:00"`}, {"Time", "8:30", ""}, {"Time", "24:30:00", ""},
		{"Duration", "P1D", `"P1D"`}, {"Odd", "x", `"x"`}, {"Any", `{"a":1}`, `{"a":1}`}, {"Any", "x", ""},
	} {
		if got, err := soap.Lexical(m, v.scalar, v.text); (err == nil) != (v.json != "") || err == nil && got != v.json {
			t.Errorf("%s %q: got %s, %v", v.scalar, v.text, got, err)
		}
	}
	answer, err := c.Encode("GetMeasured", []byte(`{"data":{"result":{"weight":9007199254740993,"price":"12.50","scan":"AQID","at":"08:30:00Z","lasts":"P1D","odd":"x","any":[1]}}}`))
	const want = "<tns:weight>9007199254740993</tns:weight><tns:price>12.50</tns:price><tns:scan>AQID</tns:scan><tns:at>08:30:00Z</tns:at><tns:lasts>P1D</tns:lasts><tns:odd>x</tns:odd><tns:any>[1]</tns:any>"
	if err != nil || !strings.Contains(string(answer), want) {
		t.Errorf("%s, %v", answer, err)
	}
	if answer, err := c.Encode("GetMeasured", []byte(`{"data":{"result":{"weight":null,"price":"cheap","scan":null,"at":null,"lasts":null,"odd":null,"any":null}}}`)); err == nil {
		t.Errorf("a price that is none: %s", answer)
	}
}
