package client_test

import (
	"testing"

	"tidings/client"
)

const smallWSDL = `<wsdl:definitions targetNamespace="urn:n" xmlns:tns="urn:n" xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
<wsdl:types><xsd:schema><xsd:complexType name="L"><xsd:sequence><xsd:element name="item" type="tns:L" maxOccurs="unbounded"/></xsd:sequence></xsd:complexType>
<xsd:element name="Get"><xsd:complexType><xsd:sequence><xsd:element name="a" type="tns:L" minOccurs="0"/></xsd:sequence></xsd:complexType></xsd:element>
<xsd:element name="GetResponse"><xsd:complexType/></xsd:element></xsd:schema></wsdl:types></wsdl:definitions>`

// Whatever a WSDL says, what it makes of an input is an envelope or an error.
func FuzzContract(f *testing.F) {
	f.Add(smallWSDL)
	f.Add(`<a targetNamespace="x"/>`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := client.ParseContract(text)
		if err != nil {
			return
		}
		for _, name := range c.Operations() {
			e := client.Envelope{Contract: c, Operation: name, Input: map[string]any{"a": []any{[]any{}, nil}}}
			if out, err := e.Text(); err == nil && out == "" {
				t.Errorf("%s: nothing", name)
			}
		}
	})
}
