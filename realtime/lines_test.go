package realtime_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"tidings/realtime"
)

// journal keeps the lines of a log.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: level}))
}

// lines are those with a message.
func (j *journal) lines(t testing.TB, msg string) (list []map[string]any) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m["msg"] == msg {
			list = append(list, m)
		}
	}
	return list
}

func TestTheLogTellsOfAConnectionFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	var j journal
	f := serve(t, realtime.Options{Logger: j.logger(slog.LevelDebug)})
	c := connect(t, f.url, "")
	c.subscribe("watch", "subscription ticks")
	eventually(t, "it is subscribed", func() bool { return f.engine.subscribers() == 1 })
	c.send("no")
	c.expectClose(4400)
	eventually(t, "its end is told", func() bool { return len(j.lines(t, "connection closed")) == 1 })
	opened, operation, closed := j.lines(t, "connection opened"), j.lines(t, "operation"), j.lines(t, "connection closed")[0]
	if len(opened) != 1 || len(operation) != 1 || opened[0]["level"] != "DEBUG" || opened[0]["transport"] != "websocket" || opened[0]["remote_ip"] == "" {
		t.Fatalf("%v, %v", opened, operation)
	}
	id := opened[0]["conn_id"]
	if operation[0]["conn_id"] != id || operation[0]["op_id"] != "watch" || operation[0]["op_type"] != "subscription" {
		t.Errorf("the operation: %v", operation)
	}
	if id == "" || closed["conn_id"] != id || closed["level"] != "INFO" || closed["reason"] != "protocol" || closed["close_code"] != 4400.0 {
		t.Errorf("the end: %v", closed)
	}
}

func TestWhatTheClientEndsIsNoNews(t *testing.T) {
	t.Parallel()
	var j journal
	f := serve(t, realtime.Options{Logger: j.logger(slog.LevelInfo)})
	c := connect(t, f.url, "")
	if err := c.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, "")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone", func() bool { return f.hub.Stats().Sockets == 0 })
	if got := j.lines(t, "connection closed"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestAFloodOfConnectionsDoesNotFloodTheLog(t *testing.T) {
	t.Parallel()
	var j journal
	f := serve(t, realtime.Options{Logger: j.logger(slog.LevelInfo), MaxPerAddress: 1})
	connect(t, f.url, "")
	const many = 300
	for range many {
		_, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(f.url, "http"), nil)
		if err == nil {
			t.Fatal("a second connection was taken")
		}
		resp.Body.Close()
	}
	told := 0.0
	for _, line := range j.lines(t, "connection refused") {
		told++
		if line["reason"] != "address" {
			t.Errorf("%v", line)
		}
		if more, ok := line["left_out"].(float64); ok {
			told += more
		}
	}
	if lines := len(j.lines(t, "connection refused")); lines == 0 || lines > many/2 || told > many {
		t.Errorf("%d lines tell of %v refusals", lines, told)
	}
}
