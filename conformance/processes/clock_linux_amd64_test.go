//go:build conformance

package processes

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wallClock is what one process takes for the time of day. It can be set, as an
// administrator or a time server sets the clock of a machine; the monotonic
// clock, by which timers run, goes on as it does there.
//
// Programs read both by a function that the kernel maps into each of them, the
// vDSO. Before the process runs its own first instruction, that function is
// replaced in its memory by one that asks the kernel and adds an offset to the
// time of day, as debuggers set breakpoints.
type wallClock struct {
	pid    int
	offset uintptr // where the offset is, in seconds
}

// clockGettime is int clock_gettime(clockid_t, struct timespec *). The offset
// stands 32 bytes after its beginning.
var clockGettime = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228 (clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jne to ret: not CLOCK_REALTIME
	0x48, 0x8b, 0x0d, 0x0e, 0x00, 0x00, 0x00, // mov rcx, [rip+14]: the offset
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
}

const offsetAt = 32

// start starts a command whose clock it is from then on.
func (c *wallClock) start(cmd *exec.Cmd) error {
	runtime.LockOSThread() // only the thread that has started it may look into it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return err
	}
	c.pid = cmd.Process.Pid
	err := c.stopped()
	if err == nil {
		err = c.replace()
	}
	if err == nil {
		err = c.write(0)
	}
	if err = errors.Join(err, syscall.PtraceDetach(c.pid)); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // what it says is no news
	}
	return err
}

// set puts the clock so far ahead of the true time, or behind it.
func (c *wallClock) set(t testing.TB, ahead time.Duration) {
	t.Helper()
	if err := c.write(ahead); err != nil {
		t.Fatalf("set the clock of a process: %v", err)
	}
}

// write needs no pause of the process: the offset is one word.
func (c *wallClock) write(ahead time.Duration) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	_, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(ahead/time.Second))), int64(c.offset))
	return err
}

// stopped waits until the process has stopped for us.
func (c *wallClock) stopped() error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.pid, &status, syscall.WALL, nil); err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("the process has not stopped: %v", status)
	}
	return nil
}

// replace puts our function in the place of the kernel's.
func (c *wallClock) replace() error {
	at, image, err := c.vdso()
	if err != nil {
		return err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" || s.Size < offsetAt+8 || s.Value%8 != 0 {
			continue
		}
		c.offset = at + uintptr(s.Value) + offsetAt
		code := append(bytes.Clone(clockGettime), make([]byte, offsetAt+8-len(clockGettime))...)
		_, err := syscall.PtracePokeData(c.pid, at+uintptr(s.Value), code)
		return err
	}
	return errors.New("the vDSO has no clock_gettime that could be replaced")
}

// vdso finds it in the memory of the stopped process.
func (c *wallClock) vdso() (at uintptr, image []byte, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid))
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.Contains(line, "[vdso]") {
			continue
		}
		var begin, end uintptr
		if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err != nil {
			return 0, nil, err
		}
		image = make([]byte, end-begin)
		_, err := syscall.PtracePeekData(c.pid, begin, image)
		return begin, image, err
	}
	return 0, nil, errors.New("the process has no vDSO")
}

// startWithClock runs an api that is the whole service and has a clock of its own.
// It skips the test where processes must not be looked into.
func startWithClock(t *testing.T, more ...string) (*api, *wallClock) {
	t.Helper()
	data, listen, admin := t.TempDir(), freePort(t), freePort(t)
	c := &wallClock{}
	begin := func(cmd *exec.Cmd) error {
		if err := c.start(cmd); err != nil {
			t.Skipf("a process can be given no clock of its own: %v", err)
		}
		return nil
	}
	p := &process{
		name: "api", ready: "http://" + admin + "/readyz", begin: begin,
		args: append([]string{"--dev", "--schema", social(t), "--data", data, "--listen", listen, "--admin", admin}, more...),
	}
	return &api{process: start(t, p), url: "http://" + listen}, c
}
