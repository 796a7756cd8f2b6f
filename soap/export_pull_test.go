package soap

// Stop tells the pulls that wait that the service ends.
func (s *Service) Stop() { s.stop() }
