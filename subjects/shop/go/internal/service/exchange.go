package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// connectionsToOne is how many idle connections a client keeps to one service: more than the
// shop has requests at once, so that none is opened in the middle of its load.
const connectionsToOne = 128

const answerWithin = 5 * time.Second

// Client calls other services over connections that it keeps.
func Client(wrap func(http.RoundTripper) http.RoundTripper) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: connectionsToOne}
	return &http.Client{Transport: wrap(transport), Timeout: answerWithin}
}

// ClientHTTP2 sends all requests to one service over one connection, as gRPC wants it.
func ClientHTTP2(wrap func(http.RoundTripper) http.RoundTripper) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: wrap(transport), Timeout: answerWithin}
}

// Exchange sends a body as JSON, or none, and reads the answer as JSON.
func Exchange(ctx context.Context, client *http.Client, method, url string, body, answer any) error {
	request, err := newRequest(ctx, method, url, body)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// Read to the end, so that the connection can be reused.
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return &StatusError{Status: response.StatusCode, URL: url, Said: string(said)}
	}
	return json.Unmarshal(said, answer)
}

func newRequest(ctx context.Context, method, url string, body any) (*http.Request, error) {
	if body == nil {
		return http.NewRequestWithContext(ctx, method, url, nil)
	}
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// StatusError is an answer that is not a success.
type StatusError struct {
	Status int
	URL    string
	Said   string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %d: %s", e.URL, e.Status, e.Said)
}
