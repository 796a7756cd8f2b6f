package xmltree

import (
	"fmt"
	"strings"
	"time"
)

// ParseDateTime reads an xsd:dateTime of the years 0000 to 9999. One without a
// zone is in UTC; fractions are kept up to nanoseconds.
func ParseDateTime(text string) (time.Time, error) {
	midnight := strings.Contains(text, "T24:00:00")
	if midnight {
		text = strings.Replace(text, "T24:", "T00:", 1)
	}
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil && !strings.Contains(text, ",") {
			if midnight {
				at = at.AddDate(0, 0, 1)
			}
			if y := at.UTC().Year(); y >= 0 && y <= 9999 {
				return at, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is no date and time such as 2026-11-20T07:25:22Z", text)
}
