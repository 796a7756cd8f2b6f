package realtime

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// parking is where silent sockets wait: one goroutine, with an epoll of its own,
// serves them all, since a goroutine for each is 2.5 KiB of an idle socket.
//
// Its lock is below those of the sockets.
type parking struct {
	hub *Hub

	mu    sync.Mutex
	epoll int
	file  *os.File // the epoll; nil while there is no socket
	slots []*socket
	free  []int32 // places in slots
	count int
}

// place is a socket's place in the parking, guarded by the parking's lock.
type place struct {
	slot   int32 // from 1; 0 when it has none yet
	parked bool
}

// park has s.serve called on a new goroutine when there is something to read.
// False: it cannot, because the connection is closed or the system has no more
// to give.
func (p *parking) park(s *socket) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	operation := syscall.EPOLL_CTL_MOD
	if s.place.slot == 0 {
		if !p.enterLocked(s) {
			return false
		}
		operation = syscall.EPOLL_CTL_ADD
	}
	var err error
	closed := s.raw.Control(func(fd uintptr) {
		ev := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT, Fd: s.place.slot}
		err = syscall.EpollCtl(p.epoll, operation, int(fd), &ev)
	})
	s.place.parked = closed == nil && err == nil
	return s.place.parked
}

func (p *parking) enterLocked(s *socket) bool {
	if p.file == nil && !p.openLocked() {
		return false
	}
	if last := len(p.free) - 1; last >= 0 {
		s.place.slot, p.free = p.free[last], p.free[:last]
		p.slots[s.place.slot-1] = s
	} else {
		p.slots = append(p.slots, s)
		s.place.slot = int32(len(p.slots))
	}
	p.count++
	return true
}

func (p *parking) openLocked() bool {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	_ = syscall.SetNonblock(fd, true) // what can fail here fails below
	file := os.NewFile(uintptr(fd), "epoll")
	conn, err := file.SyscallConn()
	if err != nil || file.SetDeadline(time.Time{}) != nil { // it cannot be waited for
		file.Close()
		return false
	}
	p.epoll, p.file = fd, file
	p.hub.wg.Go(func() { p.run(conn) })
	return true
}

// run wakes sockets until the last one has left.
func (p *parking) run(epoll syscall.RawConn) {
	events := make([]syscall.EpollEvent, 128)
	for {
		n := 0
		err := epoll.Read(func(fd uintptr) bool {
			n, _ = syscall.EpollWait(int(fd), events, 0) // interrupted: -1, and again
			return n != 0
		})
		if err != nil {
			return
		}
		for _, ev := range events[:max(n, 0)] {
			p.wakeSlot(ev.Fd)
		}
	}
}

// wakeSlot wakes who is in a slot. Somebody else may have taken it meanwhile,
// who then waits for the client on the goroutine.
func (p *parking) wakeSlot(slot int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(slot) <= len(p.slots) && p.slots[slot-1] != nil {
		wakeLocked(p.slots[slot-1])
	}
}

// wake has s.serve called if it is parked. Whoever closes a connection must
// call it: a closed one is never ready.
func (p *parking) wake(s *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wakeLocked(s)
}

func wakeLocked(s *socket) {
	if s.place.parked {
		s.place.parked = false
		go s.serve()
	}
}

// leave gives the socket's place to others.
func (p *parking) leave(s *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.place.slot == 0 {
		return
	}
	p.slots[s.place.slot-1] = nil
	p.free = append(p.free, s.place.slot)
	s.place.slot = 0
	if p.count--; p.count == 0 {
		p.file.Close()
		p.file, p.slots, p.free = nil, nil, nil
	}
}
