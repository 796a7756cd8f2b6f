package soap

// problem is what a fault of WS-Addressing says beside its code. nil is that of
// every other fault, and writes nothing.
type problem struct {
	dialect *dialect
	within  wire   // the broader code, where there are two
	header  string // local name of the header to blame
}

// broader is the subcode of SOAP 1.2 around that of the fault, empty for none.
func (p *problem) broader() string {
	if p == nil {
		return ""
	}
	return string(p.within)
}

// appendDeclaration declares the prefix of the fault's codes.
func (p *problem) appendDeclaration(out []byte) []byte {
	if p == nil {
		return out
	}
	return append(append(append(out, ` xmlns:wsa="`...), p.dialect.namespace...), '"')
}

// appendDetail names the header to blame, as the detail of SOAP 1.2 has it.
func (p *problem) appendDetail(out []byte) []byte {
	if p == nil {
		return out
	}
	out = append(append(append(out, `<wsa:ProblemHeaderQName xmlns:wsa="`...), p.dialect.namespace...), `">wsa:`...)
	return append(append(out, p.header...), "</wsa:ProblemHeaderQName>"...)
}

// appendHeader does the same for SOAP 1.1, where the detail tells of the body
// alone.
func (p *problem) appendHeader(out []byte) []byte {
	if p == nil {
		return out
	}
	out = append(append(append(out, `<wsa:FaultDetail xmlns:wsa="`...), p.dialect.namespace...), `">`...)
	return append(p.appendDetail(out), "</wsa:FaultDetail>"...)
}
