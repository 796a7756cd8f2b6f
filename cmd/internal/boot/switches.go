package boot

// IsSwitch reports whether a flag of the settings stands without a value, as
// --dev does. Those who mix settings with words of their own need to know.
func IsSwitch(name string) bool {
	f := new(Config).flags(nil, nil).Lookup(name)
	if f == nil {
		return name == "print-config" || name == "version"
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
