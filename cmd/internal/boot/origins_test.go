package boot_test

import (
	"strings"
	"testing"
)

func TestOriginsThatNoBrowserSendsAreRefused(t *testing.T) {
	t.Parallel()
	for origins, good := range map[string]bool{
		"": true, "*": true, "https://app.example.com": true, "http://localhost:5173, https://a.example": true, "capacitor://localhost": true,
		"https://app.example.com/": false, "app.example.com": false, "https://app.example.com/path": false, "https://*.example.com": false,
		"localhost:5173": false, "https://": false, "https://a.example https://b.example": false, "null": false,
	} {
		_, _, err := read([]string{"--origins", origins}, nil)
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "TIDINGS_ORIGINS") {
			t.Errorf("%q: %v", origins, err)
		}
	}
}
