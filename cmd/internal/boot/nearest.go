package boot

// nearest is the name that was probably meant, and empty when none is near.
func nearest(name string, names []string) string {
	best, found := len(name)/3+1, ""
	for _, candidate := range names {
		if d := distance(name, candidate); d < best {
			best, found = d, candidate
		}
	}
	return found
}

// distance is how many letters must be put in, left out or exchanged to make one
// word of the other (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
