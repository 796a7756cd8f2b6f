package soap_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"tidings/fault"
	"tidings/soap"
)

const listUsers = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body><ListUsers/></s:Body></s:Envelope>`

// packed returns text in a coding; "bare" is deflate without the zlib around it.
func packed(t testing.TB, coding, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zlib":
		w = zlib.NewWriter(&out)
	case "bare":
		w, _ = flate.NewWriter(&out, flate.DefaultCompression)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// send posts a body and returns the answer as it came, never unpacked.
func (w *world) send(t testing.TB, body []byte, header http.Header) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/v1/SocialService", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"text/xml"}, "Accept-Encoding": {"identity"}}
	for key, values := range header {
		r.Header[key] = values
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, answer
}

func TestPackedEnvelopesAreUnpackedByTheWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	whole := packed(t, "gzip", listUsers)
	for what, c := range map[string]struct {
		coding string
		body   []byte
		status int
	}{
		"gzip":                     {"gzip", whole, 200},
		"x-gzip, in capitals":      {"X-GZIP", whole, 200},
		"deflate":                  {"deflate", packed(t, "zlib", listUsers), 200},
		"bare deflate":             {"deflate", packed(t, "bare", listUsers), 200},
		"identity":                 {"identity", []byte(listUsers), 200},
		"no gzip":                  {"gzip", []byte(listUsers), 400},
		"gzip that ends early":     {"gzip", whole[:len(whole)-9], 400},
		"gzip with a wrong sum":    {"gzip", append(bytes.Clone(whole[:len(whole)-8]), 0, 0, 0, 0, 0, 0, 0, 0), 400},
		"gzip and something more":  {"gzip", append(bytes.Clone(whole), "more"...), 400},
		"no deflate":               {"deflate", []byte("\xff\xff"), 400},
		"nothing":                  {"gzip", nil, 400},
		"gzip that is no envelope": {"gzip", packed(t, "gzip", "<"), 500},
		"too large when unpacked":  {"gzip", packed(t, "gzip", strings.Repeat(" ", 1<<20+1)), 413},
		"a bomb":                   {"gzip", packed(t, "gzip", strings.Repeat(" ", bomb)), 413},
	} {
		resp, answer := w.send(t, c.body, http.Header{"Content-Encoding": {c.coding}})
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s: %s", what, resp.Status, answer)
		}
		if plain := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"); plain != (c.status < 500 && c.status > 200) {
			t.Errorf("%s: %s: %q", what, resp.Status, resp.Header.Get("Content-Type"))
		}
	}
}

// (It does not run in parallel: it counts what the whole process allocates.)
// bomb is how many bytes a bomb unpacks to: more than may be allocated for it.
const bomb = 24 << 20

func TestABombIsPutDownAtTheLimit(t *testing.T) {
	for _, coding := range []string{"gzip", "zlib", "bare"} {
		body := packed(t, coding, strings.Repeat(" ", bomb))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := soap.Inflate(body, map[string]string{"gzip": "gzip"}[coding], 1<<20)
		runtime.ReadMemStats(&after)
		if !fault.Is(err, fault.PayloadTooLarge) {
			t.Errorf("%s: %v", coding, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
			t.Errorf("%s: %d bytes allocated", coding, n)
		}
	}
}

func TestAnswersArePackedForThoseWhoTakeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	alice := http.Header{"Authorization": {"Bearer " + token(t, "alice")}}
	resp, answer := w.send(t, []byte(create(strings.Repeat("long ", 1000))), alice)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%s: %s", resp.Status, answer)
	}
	list := strings.ReplaceAll(listUsers, "ListUsers", "ListPosts")
	resp, answer = w.send(t, []byte(list), http.Header{"Accept-Encoding": {"deflate, gzip;q=0.5"}})
	if resp.Header.Get("Content-Encoding") != "gzip" || resp.ContentLength != int64(len(answer)) {
		t.Fatalf("%s, Content-Encoding %q, Content-Length %d of %d", resp.Status, resp.Header.Get("Content-Encoding"), resp.ContentLength, len(answer))
	}
	z, err := gzip.NewReader(bytes.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil || !strings.Contains(string(text), "long long") {
		t.Errorf("%v: %s", err, text)
	}
	if resp, answer = w.send(t, []byte(list), nil); resp.Header.Get("Content-Encoding") != "" || !strings.Contains(string(answer), "long long") {
		t.Errorf("who takes none gets %q: %s", resp.Header.Get("Content-Encoding"), answer)
	}
	resp, answer = w.send(t, []byte(listUsers), http.Header{"Accept-Encoding": {"gzip"}})
	if resp.Header.Get("Content-Encoding") != "" || !strings.Contains(string(answer), "ListUsersResponse") {
		t.Errorf("a small answer is packed: %q", resp.Header.Get("Content-Encoding"))
	}
}

// create is an envelope that makes a post.
func create(body string) string {
	return `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body>` +
		`<CreatePost><input><title>T</title><body>` + body + `</body></input></CreatePost></s:Body></s:Envelope>`
}

func TestWhatIsLargerThanAMessageOfTheBusTravelsPacked(t *testing.T) {
	t.Parallel()
	o := trusting
	o.MaxEnvelope = 4 << 20
	w := newWorld(t, o)
	alice := http.Header{"Authorization": {"Bearer " + token(t, "alice")}}
	for i := range 70 {
		resp, answer := w.send(t, []byte(create(strings.Repeat(fmt.Sprintf("%02d long ", i), 2400))), alice)
		if resp.StatusCode != 200 {
			t.Fatalf("%s: %s", resp.Status, answer)
		}
	}
	list := strings.ReplaceAll(listUsers, "<ListUsers/>", strings.Repeat(" ", 3<<20)+"<ListPosts><first>70</first></ListPosts>")
	resp, answer := w.send(t, []byte(list), nil)
	if resp.StatusCode != 200 || len(answer) < 1<<20 || !strings.Contains(string(answer), ">69 long ") {
		t.Errorf("%s: %d bytes", resp.Status, len(answer))
	}
	var noise strings.Builder
	for noise.Len() < 3<<20 {
		fmt.Fprintf(&noise, "%016x", rand.Uint64())
	}
	resp, answer = w.send(t, []byte(strings.ReplaceAll(listUsers, "<s:Body>", "<s:Body><!--"+noise.String()+"-->")), nil)
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("noise: %s: %.200s", resp.Status, answer)
	}
	if resp, answer = w.send(t, bytes.Repeat([]byte(" "), 4<<20+1), nil); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("beyond the limit: %s: %.200s", resp.Status, answer)
	}
}

// What waits for a place among the large ones does so no longer than its caller.
func TestLargeEnvelopesWaitForAPlace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := soap.LargeOnes(1)
	leave, err := l.Enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := l.Enter(ctx); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a second one: %v", err)
	}
	leave()
	if _, err := l.Enter(t.Context()); err != nil {
		t.Errorf("after the first has left: %v", err)
	}
}

// FuzzInflate: bytes are unpacked within the limit, or refused.
func FuzzInflate(f *testing.F) {
	for _, coding := range []string{"gzip", "zlib", "bare"} {
		f.Add(packed(f, coding, listUsers), coding == "gzip")
	}
	f.Fuzz(func(t *testing.T, data []byte, isGzip bool) {
		coding := "deflate"
		if isGzip {
			coding = "gzip"
		}
		out, err := soap.Inflate(data, coding, 1000)
		if err == nil && len(out) > 1000 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
