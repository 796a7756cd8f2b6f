package main

import (
	"strings"
	"testing"
	"time"

	"tidings/client"
)

func TestALossIsToldWithItsReasonAndOnceAsLongAsThatStays(t *testing.T) {
	t.Parallel()
	refused := client.Notice{Lost: "connection refused", Again: 1234567 * time.Microsecond}
	notices := []client.Notice{refused, refused, refused, {Lost: "answered 503", Again: time.Second}, {Connected: true, Transport: client.SSE, Cursor: "c-1"}, refused}
	for _, c := range []struct {
		terminal bool
		want     string
	}{
		{false, "connection refused; trying again in 1.2s\nanswered 503; trying again in 1s\nconnected by sse, going on after c-1\nconnection refused; trying again in 1.2s\n"},
		{true, "connection refused; trying again in 1.2s\n\r\x1b[Ktrying again in 1.2s (try 2)\r\x1b[Ktrying again in 1.2s (try 3)\r\x1b[Kanswered 503; trying again in 1s\nconnected by sse, going on after c-1\nconnection refused; trying again in 1.2s\n"},
	} {
		var out strings.Builder
		teller := &teller{to: &out, terminal: c.terminal}
		for _, n := range notices {
			teller.tell(n)
		}
		if out.String() != c.want {
			t.Errorf("terminal %t: %q", c.terminal, out.String())
		}
	}
}
