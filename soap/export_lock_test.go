package soap

import (
	"reflect"
	"strings"
)

// LockedWSDL prints the contract of a lock.
func LockedWSDL(l *Lock, o Options, twelve bool) ([]byte, error) {
	base, err := o.base()
	if err != nil {
		return nil, err
	}
	return l.contract.wsdl(base+l.contract.path(), twelve), nil
}

// NotInLocks names the fields of contracts that a lock's file has no member for.
func NotInLocks() []string {
	known := map[string]bool{
		"operation.headed": true, // by the service's settings
		"operation.size":   true, // guessed anew
		"operation.asked":  true,
		"operation.start":  true, // written anew, as what follows
		"operation.end":    true,
		"part.written":     true,
		"xsdType.origin":   true, // for messages
		"xsdType.width":    true, // counted anew
	}
	var missing []string
	for _, pair := range [][2]reflect.Type{
		{reflect.TypeFor[operation](), reflect.TypeFor[lockOperation]()},
		{reflect.TypeFor[part](), reflect.TypeFor[lockPart]()},
		{reflect.TypeFor[xsdType](), reflect.TypeFor[lockType]()},
	} {
		for i := range pair[0].NumField() {
			name := pair[0].Field(i).Name
			key := pair[0].Name() + "." + name
			if name == "typ" {
				name = "type"
			}
			_, there := pair[1].FieldByName(strings.ToUpper(name[:1]) + name[1:])
			if !there && !known[key] {
				missing = append(missing, key)
			}
		}
	}
	return missing
}
