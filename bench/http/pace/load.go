package main

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// load is connections on which requests go, one at a time on each.
type load struct {
	began   time.Time
	mu      sync.Mutex
	idle    []*conn
	backlog []request // due, but no connection was free
	conns   []*conn
	open    sync.WaitGroup // requests without an answer
}

type request struct {
	due  time.Duration
	text []byte
}

type answer struct {
	due, took time.Duration
	failed    bool
}

type conn struct {
	net.Conn
	under   chan request
	answers []answer
}

func dial(host string, connections int) (*load, error) {
	l := &load{}
	for range connections {
		c, err := net.Dial("tcp", host)
		if err != nil {
			return nil, err
		}
		l.conns = append(l.conns, &conn{Conn: c, under: make(chan request, 1)})
	}
	l.idle = append(l.idle, l.conns...)
	return l, nil
}

// send sends each request when it is due, and returns how late it was itself.
// It sleeps by a system call of its own thread: the runtime's timers would end
// with the ticks of a millisecond, and requests come in bursts.
func (l *load) send(times []time.Duration, next func() []byte) (late []time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, c := range l.conns {
		go l.read(c)
	}
	l.began = time.Now()
	for _, due := range times {
		if wait := due - time.Since(l.began); wait > 0 {
			pause := syscall.NsecToTimespec(int64(wait))
			_ = syscall.Nanosleep(&pause, nil) // a signal wakes it early: the request goes at once
		}
		late = append(late, time.Since(l.began)-due)
		l.open.Add(1)
		r := request{due, next()}
		l.mu.Lock()
		n := len(l.idle)
		if n == 0 {
			l.backlog = append(l.backlog, r)
			l.mu.Unlock()
			continue
		}
		c := l.idle[0] // the one that rested longest: all are used
		l.idle = append(l.idle[:0], l.idle[1:]...)
		l.mu.Unlock()
		c.ask(r)
	}
	return late
}

func (c *conn) ask(r request) {
	c.under <- r
	_, _ = c.Write(r.text) // read sees that the connection is broken
}

// read takes the answers of a connection and gives it what waits for one.
func (l *load) read(c *conn) {
	from, body := bufio.NewReaderSize(c, 64<<10), new(bytes.Buffer)
	for r := range c.under {
		ok := receive(from, body)
		c.answers = append(c.answers, answer{r.due, time.Since(l.began) - r.due, !ok})
		l.mu.Lock()
		if len(l.backlog) > 0 {
			r := l.backlog[0]
			l.backlog = l.backlog[1:]
			l.mu.Unlock()
			c.ask(r)
		} else {
			l.idle = append(l.idle, c)
			l.mu.Unlock()
		}
		l.open.Done()
	}
}

// wait returns all answers.
func (l *load) wait() (all []answer) {
	l.open.Wait()
	for _, c := range l.conns {
		close(c.under)
		c.Close()
		all = append(all, c.answers...)
	}
	return all
}

// receive reads one answer and reports whether it is a success: a status of 200
// and no errors.
func receive(from *bufio.Reader, body *bytes.Buffer) bool {
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	body.Reset()
	_, err = body.ReadFrom(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && !bytes.Contains(body.Bytes(), []byte(`"errors"`))
}
