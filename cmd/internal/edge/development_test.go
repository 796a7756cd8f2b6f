package edge

import (
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"tidings/web"
)

func TestThePageIsForDevelopment(t *testing.T) {
	t.Parallel()
	s := newService(t, "--dev")
	resp, body := s.call(t, "GET", "/graphql", "", browser)
	h := resp.Header
	if resp.StatusCode != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Vary") != "Accept" || h.Get("ETag") == "" {
		t.Errorf("%d %v", resp.StatusCode, h)
	}
	scripts, _, _ := strings.Cut(h.Get("Content-Security-Policy"), "style-src")
	if !strings.Contains(scripts, "default-src 'none'; script-src 'self';") || strings.Contains(scripts, "unsafe") || strings.Contains(scripts, "blob:") || strings.Contains(scripts, "*") {
		t.Errorf("the policy lets in more than the page's own scripts: %s", h.Get("Content-Security-Policy"))
	}
	for _, foreign := range []string{"http://", "https://", `"//`, "{{", "<style", "onload"} {
		if strings.Contains(body, foreign) {
			t.Errorf("the page has %q in it", foreign)
		}
	}
	if strings.Contains(body, "eyJ") {
		t.Error("the page has a token in it")
	}
	if resp, body := s.call(t, "GET", "/graphql?query={__typename}", "", browser); resp.StatusCode != 200 || !strings.Contains(body, `{"data"`) {
		t.Errorf("a query from the address bar: %d %s", resp.StatusCode, body)
	}
	if resp, _ := s.call(t, "GET", "/graphql", ""); resp.StatusCode != 400 {
		t.Errorf("no page wanted: %d", resp.StatusCode)
	}
}

// asset finds what the page loads.
var asset = regexp.MustCompile(`graphql/ui/([\w-]+-[0-9A-Z]{8}\.(js|css))`)

func TestWhatThePageLoadsIsKeptByBrowsersForEver(t *testing.T) {
	t.Parallel()
	s := newService(t, "--dev")
	_, html := s.call(t, "GET", "/graphql", "", browser)
	found := asset.FindAllStringSubmatch(html, -1)
	if len(found) != 2 {
		t.Fatalf("the page loads %v", found)
	}
	for _, f := range found {
		path, want := "/"+f[0], map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}[f[2]]
		packed, body := s.call(t, "GET", path, "", "Accept-Encoding: gzip")
		h := packed.Header
		if packed.StatusCode != 200 || h.Get("Content-Type") != want || h.Get("Content-Encoding") != "gzip" || h.Get("Vary") != "Accept-Encoding" ||
			h.Get("Cache-Control") != "public, max-age=31536000, immutable" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, packed.StatusCode, h)
		}
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		plain, text := s.call(t, "GET", path, "", "Accept-Encoding: identity")
		if plain.StatusCode != 200 || plain.Header.Get("Content-Encoding") != "" || text != string(unpacked) || plain.Header.Get("ETag") == h.Get("ETag") {
			t.Errorf("%s without gzip: %d %v", path, plain.StatusCode, plain.Header)
		}
		again, none := s.call(t, "GET", path, "", "Accept-Encoding: gzip", "If-None-Match: "+h.Get("ETag"))
		if again.StatusCode != 304 || none != "" {
			t.Errorf("%s, which the browser has: %d", path, again.StatusCode)
		}
		if head, none := s.call(t, "HEAD", path, "", "Accept-Encoding: gzip"); head.StatusCode != 200 || none != "" || head.Header.Get("ETag") != h.Get("ETag") {
			t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
		}
	}
}

func TestOnlyTheFilesOfThePageAreServed(t *testing.T) {
	t.Parallel()
	s := newService(t, "--dev")
	for _, path := range []string{"/graphql/ui/", "/graphql/ui/page.html", "/graphql/ui/main.js", "/graphql/ui/..%2fpage.html", "/graphql/ui/..%2f..%2fpackage.json", "/graphql/ui/main.js.gz", "/graphql/query"} {
		if resp, _ := s.call(t, "GET", path, ""); resp.StatusCode != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestABrowserGetsPageAndContractAgainOnlyWhenTheyHaveChanged(t *testing.T) {
	t.Parallel()
	s := newService(t, "--dev")
	for path, accept := range map[string]string{"/graphql": browser, "/graphql/schema.graphql": "Accept: */*", "/graphql/resume.js": "Accept: */*"} {
		first, body := s.call(t, "GET", path, "", accept)
		tag := first.Header.Get("ETag")
		if first.StatusCode != 200 || tag == "" || first.Header.Get("Cache-Control") != "no-cache" || body == "" {
			t.Errorf("%s: %d %v", path, first.StatusCode, first.Header)
		}
		if again, body := s.call(t, "GET", path, "", accept, "If-None-Match: "+tag); again.StatusCode != 304 || body != "" {
			t.Errorf("%s, which the browser has: %d %s", path, again.StatusCode, body)
		}
		if head, body := s.call(t, "HEAD", path, "", accept); head.StatusCode != 200 || body != "" || head.Header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
		}
	}
}

func TestTheContractIsServedInDevelopment(t *testing.T) {
	t.Parallel()
	_, body := newService(t, "--dev").call(t, "GET", "/graphql/schema.graphql", "")
	if !strings.Contains(body, "type Query {") || !strings.Contains(body, "@constraint(minLength: 1") {
		t.Errorf("%.200s", body)
	}
}

func TestNothingOfDevelopmentIsServedInProduction(t *testing.T) {
	t.Parallel()
	s := newService(t)
	_, html := newService(t, "--dev").call(t, "GET", "/graphql", "", browser)
	paths := []string{"/graphql/schema.graphql", "/graphql/resume.js"}
	for _, f := range asset.FindAllString(html, -1) {
		paths = append(paths, "/"+f)
	}
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if resp, _ := s.call(t, method, path, "", browser); resp.StatusCode != 404 {
				t.Errorf("%s %s: %d", method, path, resp.StatusCode)
			}
		}
	}
}

func TestThePageHasAFileForEachNameThatItsScriptsSay(t *testing.T) {
	t.Parallel()
	p, err := web.Query()
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`[\w.-]+-[0-9A-Z]{8}\.(js|css)`)
	seen, waiting := map[string]bool{}, name.FindAllString(string(p.HTML), -1)
	for len(waiting) > 0 {
		one := waiting[0]
		waiting = waiting[1:]
		if seen[one] {
			continue
		}
		seen[one] = true
		f, has := p.File(one)
		if !has {
			t.Errorf("there is no file %s", one)
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(string(f.Gzip)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, name.FindAllString(string(text), -1)...)
	}
	if len(seen) < 10 {
		t.Errorf("%d files were found", len(seen))
	}
}

func TestTheModuleThatLetsClientsResumeIsServedInDevelopment(t *testing.T) {
	t.Parallel()
	s := newService(t, "--dev", "--origins", "https://app.example.com")
	resp, body := s.call(t, "GET", "/graphql/resume.js", "", "Origin: https://app.example.com")
	h := resp.Header
	if resp.StatusCode != 200 || h.Get("Content-Type") != "text/javascript; charset=utf-8" || h.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(body, "export function resume(") {
		t.Errorf("%d %v %s", resp.StatusCode, h, body)
	}
	if lines := strings.Count(body, "\n"); lines > 40 {
		t.Errorf("a module to copy has %d lines", lines)
	}
	if resp, _ := newService(t).call(t, "GET", "/graphql/resume.js", ""); resp.StatusCode != 404 {
		t.Errorf("outside of development: %d", resp.StatusCode)
	}
}
