package realtime

import (
	"encoding/binary"
	"sync"
)

// The opcodes of RFC 6455, 5.2.
const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xa
)

// appendFrame appends the item as one final, unmasked frame.
func appendFrame(dst []byte, it item) []byte {
	const final = 0x80
	dst = append(dst, final|it.opcode)
	switch n := it.size(); {
	case n < 126:
		dst = append(dst, byte(n))
	case n < 1<<16:
		dst = append(dst, 126)
		dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	default:
		dst = append(dst, 127)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	return appendItem(dst, it)
}

func appendItem(dst []byte, it item) []byte {
	dst = append(dst, it.head...)
	dst = append(dst, it.body...)
	return append(dst, it.tail...)
}

func closeItem(code int, text string) item {
	body := binary.BigEndian.AppendUint16(nil, uint16(code))
	return item{opcode: opClose, body: append(body, reason(text)...)}
}

// maxWrite is how many bytes go into one write, with a deadline of its own: a
// client that reads 6.5 KB a second is slow, but alive.
const maxWrite = 64 << 10

// buffers holds the buffers that items are put together in, so that an idle
// connection has none.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *[]byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return buf
	}
	return new(make([]byte, 0, 4<<10))
}

func (b *buffers) put(buf *[]byte) {
	if cap(*buf) > 2*maxWrite {
		return
	}
	*buf = (*buf)[:0]
	b.pool.Put(buf)
}
