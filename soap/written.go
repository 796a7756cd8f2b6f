package soap

import (
	"cmp"
	"sync/atomic"
)

// What an answer is made of is written once, when the contract is made.

// written is what a part looks like where it is read and written.
type written struct {
	key        string // in the JSON of a result, with the colon
	asked      string // the same in that of variables
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
		for _, p := range op.args {
			p.write()
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
		asked:  `"` + p.member() + `":`,
		start:  "<tns:" + p.name + ">",
		end:    "</tns:" + p.name + ">",
		nilled: "<tns:" + p.name + ` xsi:nil="true"/>`,
		plain:  plain,
	}
}

// likely guesses how many bytes the next of something will have by what the last one
// had. The zero value is ready, and safe for concurrent use.
type likely struct{ last atomic.Int32 }

// room is how much there is to be for it; first, as long as there was none.
func (l *likely) room(first int) int { return cmp.Or(int(l.last.Load()), first) }

// was says how many bytes one had.
func (l *likely) was(n int) {
	n = min(n+n/8, 16<<10)
	if last := int(l.last.Load()); n > last || n < last/2 {
		l.last.Store(int32(n))
	}
}
