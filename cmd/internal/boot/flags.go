package boot

import "iter"

// Flags are the settings that have a flag, with what each is for.
func Flags() iter.Seq2[string, string] {
	return func(yield func(flag, help string) bool) {
		for _, s := range new(Config).settings() {
			if s.flag != "" && !yield(s.flag, s.help) {
				return
			}
		}
	}
}
