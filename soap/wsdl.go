package soap

import (
	"bytes"
	"fmt"
	"slices"

	"tidings/schema"
	"tidings/xmltree"
)

// wsdl prints the contract as WSDL 1.1 with its XML Schema inside: document/
// literal wrapped, one namespace. The same contract and location give the same
// bytes. With twelve, there is a SOAP 1.2 port besides that of SOAP 1.1; it is
// not in the default document, because two ports break generators.
func (c *contract) wsdl(location string, twelve bool) []byte {
	w := &wsdlWriter{contract: c}
	w.line(`<?xml version="1.0" encoding="UTF-8"?>`)
	w.line(`<wsdl:definitions name=%q targetNamespace="%s" xmlns:tns="%s"`, c.service, escaped(c.namespace), escaped(c.namespace))
	w.line(`    xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"`)
	if twelve {
		w.line(`    xmlns:soap12="http://schemas.xmlsoap.org/wsdl/soap12/"`)
	}
	w.line(`    xmlns:xsd="http://www.w3.org/2001/XMLSchema">`)
	w.line(`  <wsdl:documentation>%s, version %s. Printed from the service's schema; do not edit.</wsdl:documentation>`, c.service, c.version)
	w.types()
	w.messages()
	w.portType()
	w.binding("Soap", "soap")
	if twelve {
		w.binding("Soap12", "soap12")
	}
	w.line(`  <wsdl:service name=%q>`, c.service)
	w.port("Soap", "soap", location)
	if twelve {
		w.port("Soap12", "soap12", location)
	}
	w.line(`  </wsdl:service>`)
	w.line(`</wsdl:definitions>`)
	return w.out.Bytes()
}

type wsdlWriter struct {
	*contract
	out bytes.Buffer
}

func (w *wsdlWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

func escaped(s string) string { return string(xmltree.AppendText(nil, s)) }

func (w *wsdlWriter) types() {
	w.line(`  <wsdl:types>`)
	w.line(`    <xsd:schema targetNamespace="%s" elementFormDefault="qualified" attributeFormDefault="unqualified"`, escaped(w.namespace))
	w.line(`        xmlns:jaxb="http://java.sun.com/xml/ns/jaxb" jaxb:version="2.1">`)
	w.line(`      <!-- For wsimport and wsdl2java: plain Integer and Double properties in place of JAXBElement. -->`)
	w.line(`      <xsd:annotation><xsd:appinfo><jaxb:globalBindings generateElementProperty="false"/></xsd:appinfo></xsd:annotation>`)
	for _, t := range w.contract.types {
		w.xsdType(t)
	}
	for _, op := range w.operations {
		w.element(op.name, op.args)
		w.element(op.name+"Response", []*part{op.result})
	}
	w.fault()
	w.line(`    </xsd:schema>`)
	w.line(`  </wsdl:types>`)
}

func (w *wsdlWriter) xsdType(t *xsdType) {
	switch t.form {
	case formObject, formVariant:
		w.line(`      <xsd:complexType name=%q>%s`, t.name, annotation(t.doc))
		w.sequence(t.fields)
		w.line(`      </xsd:complexType>`)
	case formList:
		w.line(`      <xsd:complexType name=%q>`, t.name)
		w.line(`        <xsd:sequence><xsd:element name=%q type=%q minOccurs="0" maxOccurs="unbounded"%s/></xsd:sequence>`,
			t.item.name, t.item.typ.ref(), nillable(t.item))
		w.line(`      </xsd:complexType>`)
	default:
		w.line(`      <xsd:simpleType name=%q>%s`, t.name, annotation(t.doc))
		w.line(`        <xsd:restriction base=%q>%s`, t.base, t.facets)
		for _, v := range t.values {
			if v.doc == "" {
				w.line(`          <xsd:enumeration value=%q/>`, v.name)
				continue
			}
			w.line(`          <xsd:enumeration value=%q>%s</xsd:enumeration>`, v.name, annotation(v.doc))
		}
		w.line(`        </xsd:restriction>`)
		w.line(`      </xsd:simpleType>`)
	}
}

// element declares the wrapper of a request or of an answer.
func (w *wsdlWriter) element(name string, parts []*part) {
	w.line(`      <xsd:element name=%q><xsd:complexType>`, name)
	w.sequence(parts)
	w.line(`      </xsd:complexType></xsd:element>`)
}

func (w *wsdlWriter) sequence(parts []*part) {
	w.line(`        <xsd:sequence>`)
	for _, p := range parts {
		occurs := ""
		if p.optional {
			occurs = ` minOccurs="0"`
		}
		end := "/>"
		if p.doc != "" {
			end = ">" + annotation(p.doc) + "</xsd:element>"
		}
		w.line(`          <xsd:element name=%q type=%q%s%s%s`, p.name, p.typ.ref(), occurs, nillable(p), end)
	}
	w.line(`        </xsd:sequence>`)
}

func nillable(p *part) string {
	if p.nillable {
		return ` nillable="true"`
	}
	return ""
}

func annotation(doc string) string {
	if doc == "" {
		return ""
	}
	return `<xsd:annotation><xsd:documentation>` + escaped(doc) + `</xsd:documentation></xsd:annotation>`
}

// fault declares the one fault. Its element and its message have different
// names, so that Java gets a ServiceException that holds a ServiceFault.
func (w *wsdlWriter) fault() {
	w.line(`      <xsd:element name=%q type="tns:%s"/>`, faultName, faultName)
	w.line(`      <xsd:complexType name=%q>`, faultName)
	w.line(`        <xsd:sequence>`)
	w.line(`          <xsd:element name="code" type="xsd:string">%s</xsd:element>`, annotation(faultCodes))
	w.line(`          <xsd:element name="message" type="xsd:string"/>`)
	w.line(`          <xsd:element name="path" type="xsd:string" minOccurs="0">%s</xsd:element>`, annotation("The value that is to blame, such as input.title."))
	w.line(`          <xsd:element name="retryAfterSeconds" type="xsd:int" minOccurs="0">%s</xsd:element>`, annotation("When trying again can help."))
	w.line(`          <xsd:element name="requestId" type="xsd:string" minOccurs="0">%s</xsd:element>`, annotation("Names the call in the service's log."))
	if w.versioned() { // one more element breaks programs that were made without it
		w.line(`          <xsd:element name="currentVersion" type="xsd:int" minOccurs="0">%s</xsd:element>`, annotation("The version that the record has, where another one was expected."))
	}
	w.line(`        </xsd:sequence>`)
	w.line(`      </xsd:complexType>`)
}

// faultElements are the names of those elements.
func (c *contract) faultElements() []string {
	names := []string{"code", "message", "path", "retryAfterSeconds", "requestId"}
	if c.versioned() {
		names = append(names, "currentVersion")
	}
	return names
}

// versioned reports whether callers can say which version of a record they expect.
func (c *contract) versioned() bool {
	return slices.ContainsFunc(c.types, func(t *xsdType) bool {
		return slices.ContainsFunc(t.fields, func(p *part) bool { return p.name == schema.ExpectedVersion })
	})
}

const faultCodes = "What kind of failure it was: NOT_FOUND, FORBIDDEN, UNAUTHENTICATED, BAD_USER_INPUT, BAD_REQUEST, CONFLICT, CURSOR_EXPIRED, TIMEOUT, RATE_LIMITED, UNAVAILABLE, INTERNAL. New codes may appear."

func (w *wsdlWriter) messages() {
	for _, op := range w.operations {
		w.line(`  <wsdl:message name="%sRequest"><wsdl:part name="parameters" element="tns:%s"/></wsdl:message>`, op.name, op.name)
		w.line(`  <wsdl:message name="%sResponse"><wsdl:part name="parameters" element="tns:%sResponse"/></wsdl:message>`, op.name, op.name)
	}
	w.line(`  <wsdl:message name="ServiceException"><wsdl:part name="fault" element="tns:%s"/></wsdl:message>`, faultName)
}

func (w *wsdlWriter) portType() {
	w.line(`  <wsdl:portType name="%sPortType">`, w.service)
	for _, op := range w.operations {
		w.line(`    <wsdl:operation name=%q>`, op.name)
		if op.doc != "" {
			w.line(`      <wsdl:documentation>%s</wsdl:documentation>`, escaped(op.doc))
		}
		w.line(`      <wsdl:input message="tns:%sRequest"/>`, op.name)
		w.line(`      <wsdl:output message="tns:%sResponse"/>`, op.name)
		w.line(`      <wsdl:fault name=%q message="tns:ServiceException"/>`, faultName)
		w.line(`    </wsdl:operation>`)
	}
	w.line(`  </wsdl:portType>`)
}

func (w *wsdlWriter) binding(suffix, prefix string) {
	w.line(`  <wsdl:binding name="%s%s" type="tns:%sPortType">`, w.service, suffix, w.service)
	w.line(`    <%s:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>`, prefix)
	for _, op := range w.operations {
		w.line(`    <wsdl:operation name=%q>`, op.name)
		w.line(`      <%s:operation soapAction="%s" style="document"/>`, prefix, escaped(w.action(op)))
		w.line(`      <wsdl:input><%s:body use="literal"/></wsdl:input>`, prefix)
		w.line(`      <wsdl:output><%s:body use="literal"/></wsdl:output>`, prefix)
		w.line(`      <wsdl:fault name=%q><%s:fault name=%q use="literal"/></wsdl:fault>`, faultName, prefix, faultName)
		w.line(`    </wsdl:operation>`)
	}
	w.line(`  </wsdl:binding>`)
}

func (w *wsdlWriter) port(suffix, prefix, location string) {
	w.line(`    <wsdl:port name="%s%s" binding="tns:%s%s">`, w.service, suffix, w.service, suffix)
	w.line(`      <%s:address location="%s"/>`, prefix, escaped(location))
	w.line(`    </wsdl:port>`)
}

// action is the SOAPAction of an operation.
func (c *contract) action(op *operation) string { return c.namespace + "/" + op.name }
