package client

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"
)

func framesOf(from io.Reader) (list []frame, err error) {
	l := newLines(from)
	for {
		f, err := l.next()
		if err != nil {
			return list, err
		}
		list = append(list, f)
	}
}

func TestFramesAreReadAsTheStandardSays(t *testing.T) {
	t.Parallel()
	const text = "retry: 1500\nid: a\n\n: note\n\nevent: next\r\nid:b\r\ndata: {\r\ndata:  1}\r\n\r\nevent:complete\rdata\r\rid: c\ndata: cut off"
	got, err := framesOf(iotest.OneByteReader(bytes.NewReader([]byte(text))))
	if !errors.Is(err, io.EOF) || len(got) != 4 {
		t.Fatalf("%v %+v", err, got)
	}
	if got[0].retry != 1500*time.Millisecond || got[0].id != "a" || got[0].data != nil || got[1].comment != "note" {
		t.Errorf("%+v", got[:2])
	}
	if got[2].event != "next" || got[2].id != "b" || string(got[2].data) != "{\n 1}" || got[3].event != "complete" || got[3].data == nil {
		t.Errorf("%+v", got[2:])
	}
}

// However a stream is cut into pieces, the same frames come of it.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "id: 1\r\ndata: x\r\ndata: y\r\n\r\n", ":\n\n", "retry: 99999999999\n\ndata\n\n", "\r\r\n\n", "event: next\rdata: 1\r\r"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := framesOf(bytes.NewReader(text))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		pieces, _ := framesOf(iotest.OneByteReader(bytes.NewReader(text)))
		if len(whole) != len(pieces) {
			t.Fatalf("%d frames, and %d in pieces", len(whole), len(pieces))
		}
		for i := range whole {
			if string(whole[i].data) != string(pieces[i].data) || whole[i].id != pieces[i].id || whole[i].retry < 0 {
				t.Fatalf("%+v, and in pieces %+v", whole[i], pieces[i])
			}
		}
	})
}
