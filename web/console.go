package web

import (
	"embed"
	"strings"
)

//go:embed console
var console embed.FS

// consoleScripts are one module, in this order: what runs when the page comes up
// needs what stands before it.
var consoleScripts = [...]string{"live.js", "plot.js", "values.js", "elements.js", "state.js", "overview.js", "operations.js", "orders.js", "page.js"}

// Console is the page of the console, in one piece: it loads nothing further.
// {{nonce}} stands where its style and script need the nonce of a
// Content-Security-Policy.
func Console() string {
	var script strings.Builder
	for _, name := range consoleScripts {
		script.WriteString(consoleFile(name))
	}
	return strings.NewReplacer("{{style}}", consoleFile("style.css"), "{{script}}", script.String()).Replace(consoleFile("page.html"))
}

// consoleFile is a file of the page; all of them are embedded.
func consoleFile(name string) string {
	text, err := console.ReadFile("console/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
