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

// IsFlag reports whether a setting has the flag of that name.
func IsFlag(name string) bool {
	for flag := range Flags() {
		if flag == name {
			return true
		}
	}
	return name == "version" || name == "print-config"
}
