package schema

import (
	"cmp"
	"strconv"
)

// Pages are how long pages are: what the contract tells of it.
type Pages struct {
	Default int // when the caller says nothing
	Most    int // that the caller may ask for; zero: there is no limit
}

func (o Options) pages() Pages {
	most := max(cmp.Or(o.MaxPage, MaxPage), 0)
	return Pages{Default: min(DefaultPage, cmp.Or(most, DefaultPage)), Most: most}
}

func (p Pages) allow(n int) bool { return p.Most == 0 || n <= p.Most }

func (p Pages) remedy() string {
	if p.Most == 0 {
		return "choose a default of at least 1"
	}
	return "choose a default from 1 to " + strconv.Itoa(p.Most)
}
