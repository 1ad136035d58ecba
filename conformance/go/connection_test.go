package conformance

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"go.temporal.io/sdk/client"
)

// connection is how the environment says the server is reached: in plain text, or with TLS, a client certificate
// and an API key.
func connection() (client.Options, error) {
	options := client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS")}
	if key := os.Getenv("TEMPORAL_API_KEY"); key != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	authority := os.Getenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH")
	if authority == "" {
		return options, nil
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		return options, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return options, errors.New("there is no certificate in " + authority)
	}
	options.ConnectionOptions.TLS = &tls.Config{RootCAs: roots}
	if file := os.Getenv("TEMPORAL_TLS_CLIENT_CERT_PATH"); file != "" {
		certificate, err := tls.LoadX509KeyPair(file, os.Getenv("TEMPORAL_TLS_CLIENT_KEY_PATH"))
		if err != nil {
			return options, err
		}
		options.ConnectionOptions.TLS.Certificates = []tls.Certificate{certificate}
	}
	return options, nil
}
