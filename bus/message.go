package bus

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Header holds a message's headers. Keys are case-sensitive.
type Header map[string][]string

// Get returns the first value of key, empty when there is none.
func (h Header) Get(key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Set replaces the values of key by one.
func (h Header) Set(key, value string) { h[key] = []string{value} }

// Message is one message of the log, or a request or an answer. It must not be
// changed: others may hold it too.
type Message struct {
	Subject string
	Header  Header
	Data    []byte
	// Seq is the message's place in the log; 0 for requests and answers.
	Seq uint64
	// Prev is the sequence of the subject's message before this one, as its
	// writer expected it; 0 when this is the subject's first.
	Prev uint64
	// Time is when the log stored it.
	Time time.Time
}

// Headers that the server sets on what it stored, or that carried an append.
// They become fields of Message and are not repeated in its Header.
const (
	headerStream     = "Nats-Stream"
	headerSubject    = "Nats-Subject"
	headerSequence   = "Nats-Sequence"
	headerTime       = "Nats-Time-Stamp"
	headerLast       = "Nats-Last-Sequence"
	headerPending    = "Nats-Num-Pending"
	headerExpected   = "Nats-Expected-Last-Subject-Sequence"
	headerExpectedOf = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerBatch      = "Nats-Batch-Id"
	headerBatchSeq   = "Nats-Batch-Sequence"
	headerBatchLast  = "Nats-Batch-Commit"
)

// stored reads a message that the stream republished or that a direct get
// answered. The header is emptied of the server's own entries.
//
// The server appends its headers to those of the writer, and never removes what
// a writer put there under the same names: hence the last value counts.
func stored(stream string, h nats.Header, data []byte) (Message, error) {
	if s := lastValue(h, headerStream); s != stream {
		return Message{}, fmt.Errorf("message of stream %.100q, not of %q", s, stream)
	}
	m := Message{Subject: lastValue(h, headerSubject), Data: data}
	if m.Subject == "" || strings.ContainsAny(m.Subject, " \t\r\n") {
		return Message{}, fmt.Errorf("stored message with the subject %.100q", m.Subject)
	}
	var err error
	if m.Seq, err = strconv.ParseUint(lastValue(h, headerSequence), 10, 64); err != nil || m.Seq == 0 {
		return Message{}, fmt.Errorf("stored message with the sequence %.100q", lastValue(h, headerSequence))
	}
	if m.Time, err = time.Parse(time.RFC3339Nano, lastValue(h, headerTime)); err != nil {
		return Message{}, fmt.Errorf("stored message %d with the time %.100q", m.Seq, lastValue(h, headerTime))
	}
	return m.withHeader(h), nil
}

// withHeader takes over the writer's headers. What another writer than Append
// expected as the previous sequence is absent or no number: then Prev is 0.
func (m Message) withHeader(h nats.Header) Message {
	if lastValue(h, headerExpectedOf) == "" { // it was the message's own subject
		m.Prev, _ = strconv.ParseUint(lastValue(h, headerExpected), 10, 64)
	}
	for _, key := range [...]string{headerStream, headerSubject, headerSequence, headerTime, headerLast, headerPending,
		headerExpected, headerExpectedOf, headerBatch, headerBatchSeq, headerBatchLast} {
		delete(h, key)
	}
	m.Header = Header(h)
	return m
}

func lastValue(h nats.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// outgoing is a NATS message with a copy of the headers, so that what is added
// to them stays ours.
func outgoing(subject string, h Header, data []byte) *nats.Msg {
	header := make(nats.Header, len(h)+4)
	maps.Copy(header, nats.Header(h))
	return &nats.Msg{Subject: subject, Header: header, Data: data}
}
