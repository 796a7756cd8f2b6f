package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// idle leaves many sockets with a subscription each alone, at all servers at
// once, and looks at the servers' memory when they have come to rest. The
// sockets of each are held by a process of their own: one may not open enough
// files for all.
func (b *bench) idle() error {
	var list []*held
	defer func() {
		for _, h := range list {
			h.stop()
		}
	}()
	for _, s := range b.sides {
		h, err := b.hold(s)
		if err != nil {
			return err
		}
		list = append(list, h)
	}
	time.Sleep(*settle)
	fmt.Printf("\n| %d idle sockets | KiB for each | of the process without any: MiB |\n|---|---|---|\n", *idleCount)
	for _, h := range list {
		after, err := h.server.memory()
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.1f | %d |\n", h.side.name, float64(after-h.before)/float64(*idleCount), h.before/1024)
	}
	return nil
}

// held is a server whose sockets are held by another process.
type held struct {
	side   *side
	server *server
	before int // KiB
	holder *exec.Cmd
	input  io.Closer
}

func (b *bench) hold(s *side) (*held, error) {
	r := b.rig(s, shared, 100)
	if err := r.up(); err != nil { // what the first sockets need is none of the others'
		r.down()
		return nil, err
	}
	r.sockets.close()
	h := &held{side: s, server: r.server}
	time.Sleep(time.Second)
	var err error
	if h.before, err = h.server.memory(); err != nil {
		return h, err
	}
	args := append([]string{"-hold", s.name, "-port", strconv.Itoa(h.server.port)}, os.Args[1:]...)
	h.holder = exec.Command(os.Args[0], args...)
	h.holder.Stderr = os.Stderr
	if h.input, err = h.holder.StdinPipe(); err != nil {
		return h, err
	}
	out, err := h.holder.StdoutPipe()
	if err != nil {
		return h, err
	}
	if err := h.holder.Start(); err != nil {
		return h, err
	}
	ready := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		ready <- err
	}()
	for {
		select {
		case err := <-ready:
			return h, err
		case <-time.After(2 * time.Second):
			if err := r.publish.publish(0); err != nil {
				return h, err
			}
		}
	}
}

func (h *held) stop() {
	if h.input != nil {
		h.input.Close()
	}
	if h.holder != nil {
		_ = h.holder.Wait()
	}
	h.server.stop()
}

// holdSockets is what the other process does: it opens the sockets, says so when all
// have got an event, and holds them until its input ends.
func holdSockets(name string, port, n int) error {
	for _, s := range sides(*bin, filepath.Dir(os.Args[0]), "") {
		if s.name != name {
			continue
		}
		t, _ := s.target(shared)
		t.port = port
		sockets, err := dial(t, n)
		if err != nil {
			return err
		}
		defer sockets.close()
		for seen := 0; seen < n; {
			time.Sleep(100 * time.Millisecond)
			sockets.look(func(w *window) { seen = w.seen })
		}
		fmt.Println("ready")
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	}
	return fmt.Errorf("there is no side %q", name)
}
