package job

import "time"

// Decode reads a value of the bucket or the queue as each of what it may be.
func Decode(raw []byte) (s Status, errs [3]error) {
	r, err := decodeRecord(raw)
	if err == nil {
		s = r.status("", time.Now())
	}
	errs[0] = err
	_, errs[1] = decodePart(raw)
	_, errs[2] = decodeTurn(raw)
	return s, errs
}
