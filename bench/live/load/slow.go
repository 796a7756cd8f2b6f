package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	slowSockets = 1000
	slowRate    = 100 // events a second
	slowLeast   = 15 * time.Second
)

// slow measures what sockets that stop reading cost the others, and the server.
func (b *bench) slow() error {
	fmt.Printf("\n| %d events/s to %d sockets | stop reading | p50 ms of the others | p99 ms | missing there | let go | memory half-way: MiB | at the end |\n|---|---|---|---|---|---|---|---|\n", slowRate, slowSockets)
	for _, s := range b.sides {
		for _, stuck := range []int{0, slowSockets / 100} {
			r := b.rig(s, shared, slowSockets)
			r.stuck = stuck
			err := r.slow(max(b.step, slowLeast))
			r.down()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// slow publishes after some of the sockets have stopped, long enough for the
// server to let them go, and looks at its memory before and after that.
func (r *rig) slow(d time.Duration) error {
	if err := r.up(); err != nil {
		return err
	}
	files, err := r.server.files()
	if err != nil {
		return err
	}
	if err := r.sockets.stick(r.stuck); err != nil {
		return err
	}
	if _, err := pace(context.Background(), r.publish, slowRate, slowRate); err != nil {
		return err
	}
	r.sockets.begin()
	events, memory := 0, [2]int{}
	for half := range memory {
		n, err := pace(context.Background(), r.publish, slowRate, int(slowRate*d.Seconds()/2))
		if err != nil {
			return err
		}
		events += n
		if memory[half], err = r.server.memory(); err != nil {
			return err
		}
	}
	want := uint64(events) * uint64(r.n-r.stuck)
	r.await(want)
	left, err := r.server.files()
	if err != nil {
		return err
	}
	r.sockets.look(func(w *window) {
		fmt.Printf("| %s | %d | %s | %s | %d | %d | %.1f | %.1f |\n", r.side.name, r.stuck, ms(w.latencies.quantile(0.5)), ms(w.latencies.quantile(0.99)),
			want-min(want, w.latencies.total), max(files-left, 0), float64(memory[0])/1024, float64(memory[1])/1024)
	})
	return nil
}

// files is how many the process has open: sockets, but for a few.
func (s *server) files() (int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	return len(list), err
}

// narrow gives a socket that is not connected yet small buffers, the server's
// included: those of loopback take megabytes before its writer notices that
// nobody reads.
func narrow(fd int) error {
	const maxSegment, segment, buffer = 2, 536, 4096
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, maxSegment, segment); err != nil {
		return fmt.Errorf("narrow a socket: %w", err)
	}
	return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, buffer)
}

// stick has the first n sockets read no more.
func (s *sockets) stick(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list[:n] {
		if err := syscall.EpollCtl(s.epoll, syscall.EPOLL_CTL_DEL, c.fd, nil); err != nil {
			return err
		}
		c.stuck = true // the reader may have been told of it before
	}
	return nil
}
