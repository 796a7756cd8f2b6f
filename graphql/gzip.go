package graphql

import (
	"bytes"
	"compress/gzip"
	"sync"
)

// minGzip is the size, in bytes, from which a response is worth compressing: it
// and its headers fill one packet.
const minGzip = 1 << 10

// compressor compresses whole responses. The zero value is ready; it is safe
// for concurrent use.
type compressor struct{ pool sync.Pool }

// zip is a writer and what it writes to.
type zip struct {
	buf bytes.Buffer
	w   *gzip.Writer
}

// maxKept bounds the buffer that a pooled writer keeps.
const maxKept = 256 << 10

// compressed calls use with the compressed bytes, which are good until it
// returns; or with body itself when it did not become smaller.
func (c *compressor) compressed(body []byte, use func(bytes []byte, smaller bool)) {
	z, _ := c.pool.Get().(*zip)
	if z == nil {
		z = &zip{}
		z.w, _ = gzip.NewWriterLevel(&z.buf, gzip.BestSpeed) // it is a level
	}
	z.buf.Reset()
	z.w.Reset(&z.buf)
	_, errWrite := z.w.Write(body)
	errClose := z.w.Close()
	if errWrite != nil || errClose != nil || z.buf.Len() >= len(body) {
		use(body, false)
	} else {
		use(z.buf.Bytes(), true)
	}
	if z.buf.Cap() <= maxKept {
		c.pool.Put(z)
	}
}
