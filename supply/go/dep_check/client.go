package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"
)

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// client reads objects of the Kubernetes API with the pod's own account.
type client struct {
	base  string
	token func() (string, error) // read for every request: the kubelet replaces it while the pod lives
	http  *http.Client
}

// statusError is an answer of the API other than 200.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("the API answers %d: %s", e.code, e.text) }

func inCluster(env func(string) string) (*client, error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, fmt.Errorf("KUBERNETES_SERVICE_HOST and _PORT are not set: this program runs in a pod only")
	}
	ca, err := os.ReadFile(path.Join(serviceAccount, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("the pod has no service account to ask the API with: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s/ca.crt holds no certificate", serviceAccount)
	}
	token := func() (string, error) {
		data, err := os.ReadFile(path.Join(serviceAccount, "token"))
		return strings.TrimSpace(string(data)), err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return &client{
		base:  "https://" + net.JoinHostPort(host, port),
		token: token,
		http:  &http.Client{Transport: transport, Timeout: 15 * time.Second},
	}, nil
}

// get decodes the object or list at an API path into out. Errors: *statusError, or those of the connection.
func (c *client) get(ctx context.Context, out any, query url.Values, segments ...string) error {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		escaped[i] = url.PathEscape(segment)
	}
	address := c.base + "/" + strings.Join(escaped, "/")
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var status struct{ Message string }
		body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		if json.Unmarshal(body, &status) != nil || status.Message == "" {
			status.Message = http.StatusText(response.StatusCode)
		}
		return &statusError{response.StatusCode, status.Message}
	}
	return json.NewDecoder(response.Body).Decode(out)
}
