package soap

// CrowdDeciphering takes all places of messages that are decrypted, and of those
// that wait for one, until leave is called.
func (s *Service) CrowdDeciphering() (leave func()) {
	d := s.deciphering
	for range cap(d.places) {
		d.places <- struct{}{}
	}
	for range cap(d.waiting) {
		d.waiting <- struct{}{}
	}
	return func() {
		for range cap(d.places) {
			<-d.places
		}
		for range cap(d.waiting) {
			<-d.waiting
		}
	}
}
