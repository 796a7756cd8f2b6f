package schema

import "strings"

// Nearest is the one of some names that somebody has probably meant by a word that
// is none of them; empty when none is near: one letter in three of the shorter one may
// be another, missing, too many or changed places with its neighbour, and the case does
// not count. Of names that are equally near it is the first.
func Nearest(word string, names []string) string {
	best, least := "", len(word)
	for _, name := range names {
		shorter, longer := min(len(name), len(word)), max(len(name), len(word))
		most := min((shorter+2)/3, least-1)
		if longer-shorter > most {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d <= most {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters must be put in, left out, exchanged or change places
// with their neighbour to make one word of the other: the optimal string alignment.
func distance(a, b string) int {
	before, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
