//go:build conformance

package processes

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// slowDisk is what one process writes its files through. Each write, and each
// sync, can be made to wait its turn and then for some time more, as on a disk
// that does so many operations a second.
//
// The kernel asks us before it carries them out (seccomp_unotify(2)). A program
// asks for that itself, before it becomes the one that is to be slow: that is
// this test, started by another one as a program.
type slowDisk struct{ delay atomic.Int64 }

// slowVariable tells a process that it is such a program.
const slowVariable = "TIDINGS_TEST_SLOW"

// systemCall is the number of seccomp(2), which package syscall does not have.
var systemCall = map[string]uintptr{"amd64": 317, "arm64": 277}

// What linux/seccomp.h says.
const (
	setModeFilter  = 1
	newListener    = 1<<3 | 1<<5 // and no signal but a deadly one wakes who waits
	returnNotify   = 0x7fc00000
	returnAllow    = 0x7fff0000
	receiveNotice  = 0xc0502100
	sendResponse   = 0xc0182101
	continueCall   = 1
	setNoNewRights = 38 // PR_SET_NO_NEW_PRIVS
)

type notice struct {
	id         uint64
	pid, flags uint32
	call       struct {
		number int32
		arch   uint32
		at     uint64
		args   [6]uint64
	}
}

type pollFD struct {
	fd              int32
	events, revents int16
}

const (
	pollIn  = 0x1
	pollHup = 0x10
)

type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// Not a test: the program that has been told to by slowVariable becomes the
// command in its arguments.
func TestBecomesTheCommandThatIsToBeSlow(t *testing.T) {
	if os.Getenv(slowVariable) == "" {
		t.Skip("it is started by other tests")
	}
	runtime.LockOSThread() // what is asked holds for one thread, the one that goes on
	t.Fatal(becomeSlow(flag.Args()))
}

// becomeSlow runs a command in the place of this process, after it has sent to
// the socket that is its file 3 how to hear of the writes. It returns an error or
// not at all.
func becomeSlow(command []string) error {
	listener, err := askBefore(syscall.SYS_PWRITE64, syscall.SYS_FSYNC, syscall.SYS_FDATASYNC)
	if err != nil {
		return err
	}
	if err := syscall.Sendmsg(3, []byte{0}, syscall.UnixRights(listener), nil, 0); err != nil {
		return err
	}
	syscall.CloseOnExec(3)
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, slowVariable+"=") || strings.HasPrefix(v, binVariable+"=")
	})
	return syscall.Exec(path, command, env)
}

// askBefore makes the kernel ask before it carries out one of the calls.
func askBefore(calls ...uint32) (listener int, err error) {
	const load, equal, end = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, syscall.BPF_RET | syscall.BPF_K
	filter := []syscall.SockFilter{{Code: load}} // the number of the call
	for i, call := range calls {
		filter = append(filter, syscall.SockFilter{Code: equal, Jt: uint8(len(calls) - i), K: call})
	}
	filter = append(filter, syscall.SockFilter{Code: end, K: returnAllow}, syscall.SockFilter{Code: end, K: returnNotify})
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewRights, 1, 0, 0, 0, 0); e != 0 {
		return 0, e
	}
	number, known := systemCall[runtime.GOARCH]
	if !known {
		return 0, syscall.ENOSYS
	}
	fd, _, e := syscall.RawSyscall(number, setModeFilter, newListener, uintptr(unsafe.Pointer(&program)))
	if e != 0 {
		return 0, e
	}
	return int(fd), nil
}

// start starts a command that writes through this disk.
func (d *slowDisk) start(cmd *exec.Cmd) error {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	cmd.Path = "/proc/self/exe"
	cmd.Args = append([]string{os.Args[0], "-test.run", "^TestBecomesTheCommandThatIsToBeSlow$"}, cmd.Args...)
	cmd.Env = append(cmd.Environ(), slowVariable+"=1", binVariable+"="+bin)
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	listener, err := received(ours)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // what it says is no news
		return err
	}
	go d.serve(listener) // until the process ends
	return nil
}

// received is the file that the other end of the socket has sent.
func received(f *os.File) (fd int, err error) {
	c, err := net.FileConn(f)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	beside := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := c.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), beside)
	if err != nil {
		return 0, err
	}
	messages, err := syscall.ParseSocketControlMessage(beside[:n])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("the kernel does not tell of what a process writes (%v)", err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// serve lets the writes happen, one after another.
func (d *slowDisk) serve(listener int) {
	defer syscall.Close(listener)
	for {
		wait := pollFD{fd: int32(listener), events: pollIn}
		_, _, e := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&wait)), 1, 0, 0, 0, 0)
		if e != 0 && e != syscall.EINTR || wait.revents&pollHup != 0 { // nobody is left who could write
			return
		}
		var n notice
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), receiveNotice, uintptr(unsafe.Pointer(&n))); e != 0 {
			continue // who asked is gone
		}
		<-time.After(time.Duration(d.delay.Load())) // so slow it is
		r := response{id: n.id, flags: continueCall}
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), sendResponse, uintptr(unsafe.Pointer(&r))) // who asked may be gone
	}
}

// canBeSlow reports whether disks can be made slow here.
func canBeSlow(t testing.TB) bool {
	cmd := exec.Command("true")
	err := (&slowDisk{}).start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Logf("no disk can be made slow here: %v", err)
	}
	return err == nil
}

// aWrite is how long a write takes on a slow disk.
const aWrite = 50 * time.Millisecond

// slowed is a server of the bus whose disk does 20 writes a second.
func (in *installation) slowed(p *process) (end func()) {
	d := in.slow[p.host]
	if d == nil {
		return nil
	}
	d.delay.Store(int64(aWrite))
	return func() { d.delay.Store(0) }
}

// A disk that is slow makes those wait who write to it.
func TestADiskCanBeMadeSlow(t *testing.T) {
	t.Parallel()
	if !canBeSlow(t) {
		t.SkipNow()
	}
	d := &slowDisk{}
	d.delay.Store(int64(2 * time.Second))
	began := time.Now()
	cmd := exec.Command("dd", "if=/dev/zero", "of="+t.TempDir()+"/file", "bs=1", "count=1", "conv=fsync")
	if err := d.start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("a sync that takes 2 s was done within %s", took)
	}
}
