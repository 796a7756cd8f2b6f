package boot

// A program that is all there is in its image finds neither the authorities of
// certificates nor time zones on the disk: it brings both along. What the
// machine has is preferred.
import (
	_ "time/tzdata" // TZ=Europe/Zurich

	_ "golang.org/x/crypto/x509roots/fallback" // Mozilla's; SSL_CERT_FILE and SSL_CERT_DIR name others
)
