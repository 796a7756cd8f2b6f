// Package browser has tests open pages in the browsers that people have. Chromium,
// Firefox and WebKit do the same steps: visitor.mjs, beside this file, tells them.
// What they need is installed by make clients.
package browser

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// The engines.
const (
	Chromium = "chromium"
	Firefox  = "firefox"
	WebKit   = "webkit"
)

// Engines are all of them.
func Engines() []string { return []string{Chromium, Firefox, WebKit} }

// Browser is one that runs. Its methods may be called concurrently, and fail the test
// when it does not do what it is told.
type Browser struct {
	t   *testing.T
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Scanner
}

// Start runs an engine until the test ends. It takes the certificate for good, if
// there is one; WebKit takes none.
func Start(t *testing.T, engine string, trusted *x509.Certificate) *Browser {
	t.Helper()
	cmd := exec.Command("node", "visitor.mjs", engine)
	if trusted != nil {
		key := sha256.Sum256(trusted.RawSubjectPublicKeyInfo)
		cmd.Args = append(cmd.Args, base64.StdEncoding.EncodeToString(key[:]))
	}
	_, here, _, _ := runtime.Caller(0)
	cmd.Dir, cmd.Stderr = filepath.Dir(here), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: make clients", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v: make clients installs what it needs", engine, err)
		}
	})
	b := &Browser{t: t, in: in, out: bufio.NewScanner(out)}
	b.out.Buffer(nil, 16<<20)
	return b
}

// tell sends a command and returns what it is answered with.
func (b *Browser) tell(command map[string]any) json.RawMessage {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := json.NewEncoder(b.in).Encode(command); err != nil {
		b.t.Fatal(err)
	}
	var answer struct {
		Value json.RawMessage
		Error string
	}
	if !b.out.Scan() {
		b.t.Fatalf("the browser is gone: %v", b.out.Err())
	}
	if err := json.Unmarshal(b.out.Bytes(), &answer); err != nil || answer.Error != "" {
		b.t.Fatalf("%v: %v %s", command, err, answer.Error)
	}
	return answer.Value
}

// Quiet fails the test when a page has thrown something, or wanted what its
// Content-Security-Policy forbids.
func (b *Browser) Quiet() {
	b.t.Helper()
	if said := b.tell(map[string]any{"command": "errors"}); string(said) != "[]" {
		b.t.Errorf("the pages said %s", said)
	}
}

// Window is what a page is opened in.
type Window struct {
	Name string // of the page, for what tests say of it
	URL  string
	// Width and Height are those of the page; zero means 1280 by 844. WebKit's
	// window is never narrower than 447.
	Width, Height int
	// Scheme is light or dark; empty is light.
	Scheme string
	// Silent matches addresses of WebSockets that are opened and never answered: in
	// Chromium alone.
	Silent string
}

// Page is one that was opened.
type Page struct {
	*Browser
	Name string
}

// Open opens a page, which has nothing in common with those that are open.
func (b *Browser) Open(w Window) *Page {
	b.t.Helper()
	p := &Page{b, w.Name}
	command := map[string]any{"url": w.URL, "width": cmp.Or(w.Width, 1280), "height": cmp.Or(w.Height, 844)}
	if w.Scheme != "" {
		command["scheme"] = w.Scheme
	}
	if w.Silent != "" {
		command["silent"] = w.Silent
	}
	p.do("open", command)
	return p
}

func (p *Page) do(what string, with map[string]any) json.RawMessage {
	p.t.Helper()
	with["command"], with["page"] = what, p.Name
	return p.tell(with)
}

// Fill writes a text into the field that a selector finds, in place of what is there.
func (p *Page) Fill(at, text string) {
	p.t.Helper()
	p.do("fill", map[string]any{"at": at, "text": text})
}

// Click waits for the first element of a selector that is seen, has the text, if it
// is not empty, and is covered by nothing, and clicks it.
func (p *Page) Click(at, text string) {
	p.t.Helper()
	p.do("click", map[string]any{"at": at, "text": text})
}

// Evaluate returns the value of an expression, or what it resolves to, in JSON.
func (p *Page) Evaluate(expression string) json.RawMessage {
	p.t.Helper()
	return p.do("evaluate", map[string]any{"text": expression})
}

// Until waits for what an expression says of the page.
func (p *Page) Until(is string) {
	p.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(90 * time.Second); ; <-tick.C {
		if string(p.Evaluate("Boolean("+is+")")) == "true" {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("the page %s never came to %s; it says %s", p.Name, is, p.Evaluate("document.body.innerText"))
		}
	}
}

// Shot writes what the page looks like to a file, in the colours of a scheme, if it is
// not empty: of another than it was opened in, in Chromium alone.
func (p *Page) Shot(file, scheme string) {
	p.t.Helper()
	with := map[string]any{"file": file}
	if scheme != "" {
		with["scheme"] = scheme
	}
	p.do("shot", with)
}
