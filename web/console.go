package web

import (
	_ "embed"
	"strings"
)

//go:embed console/page.html
var consolePage string

//go:embed console/style.css
var consoleStyle string

//go:embed console/live.js
var consoleLive string

//go:embed console/plot.js
var consolePlot string

//go:embed console/page.js
var consoleScript string

// Console is the page of the console, in one piece: it loads nothing further.
// {{nonce}} stands where its style and script need the nonce of a
// Content-Security-Policy.
func Console() string {
	return strings.NewReplacer("{{style}}", consoleStyle, "{{script}}", consoleLive+consolePlot+consoleScript).Replace(consolePage)
}
