package soap

// What an answer is made of is written once, when the contract is made.

// written is what a part looks like where it is read and written.
type written struct {
	key        string // in the JSON of a result, with the colon
	start, end string // tags
	nilled     string // the element of a null
	plain      bool   // a string of JSON is its text
}

// write writes all of it.
func (c *contract) write() {
	for v := range c.opening {
		c.opening[v] = string(appendOpening(nil, version(v), c.namespace))
	}
	for _, op := range c.operations {
		op.start, op.end = "<tns:"+op.name+"Response>", "</tns:"+op.name+"Response></soap:Body></soap:Envelope>"
		if op.result != nil {
			op.result.write()
		}
	}
	for _, t := range c.types {
		for _, f := range t.fields {
			f.write()
		}
		if t.item != nil {
			t.item.write()
		}
	}
}

func (p *part) write() {
	plain := false
	switch p.typ.form {
	case formText, formDateTime, formDate, formEnum:
		plain = true
	}
	p.written = written{
		key:    `"` + p.name + `":`,
		start:  "<tns:" + p.name + ">",
		end:    "</tns:" + p.name + ">",
		nilled: "<tns:" + p.name + ` xsi:nil="true"/>`,
		plain:  plain,
	}
}
