package transfer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// MaxLine is how many bytes a line may have.
const MaxLine = 16 << 20

// lines reads the lines of a file, packed or not.
type lines struct {
	r      *bufio.Reader
	number int       // of the line that was read last
	sum    hash.Hash // of all lines before it
	last   []byte    // it, with its end
	read   int64     // bytes of whole lines
}

func newLines(r io.Reader) (*lines, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		buffered = bufio.NewReaderSize(unpacked, 1<<16)
	}
	return &lines{r: buffered, sum: sha256.New()}, nil
}

// errCut says that the input ended within a line.
var errCut = fmt.Errorf("%w: it ends in the middle of a line: it was cut off", ErrFile)

// next returns the next line without its end; io.EOF after the last. The bytes
// are good until the next call.
func (l *lines) next() ([]byte, error) {
	l.sum.Write(l.last)
	l.last = l.last[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.last = append(l.last, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(l.last) == 0:
			return nil, io.EOF
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			l.number++
			return bytes.TrimSpace(l.last), errCut
		case err != nil:
			return nil, fmt.Errorf("read: %w", err)
		default:
			l.number++
			l.read += int64(len(l.last))
			return bytes.TrimSpace(l.last), nil
		}
		if len(l.last) > MaxLine {
			return nil, fmt.Errorf("%w: line %d has more than %d bytes", ErrFile, l.number+1, MaxLine)
		}
	}
}

// digest is the hex of the sum of all lines before the last one.
func (l *lines) digest() string { return hex.EncodeToString(l.sum.Sum(nil)) }
