// Command kubernetes-entrypoint is the charts' init container: it exits 0 when everything its pod depends on is there.
//
// What to wait for comes from DEPENDENCY_* variables (see dependencies.go), where the API is from the pod's service
// account. Every pod starts it first, so it is a static program of the standard library alone.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// The pause between two looks grows from first to last: quick at the start of a pod, gentle on the API of a large cloud.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 3 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "dep-check:", err)
		os.Exit(1)
	}
}

// run returns nil when all dependencies are met, an error when the variables cannot be read or the pod is ended.
func run(ctx context.Context, env func(string) string) error {
	waiting, err := parse(env)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		return nil
	}
	api, err := inCluster(env)
	if err != nil {
		return err
	}
	return wait(ctx, api, waiting, firstPause)
}

// wait looks at what is not met yet until nothing is left, and says each reason once until it changes.
func wait(ctx context.Context, api *client, waiting []dependency, pause time.Duration) error {
	started := time.Now()
	said := map[string]string{}
	for {
		var left []dependency
		for _, d := range waiting {
			reason, err := d.missing(ctx, api)
			if err != nil {
				reason = err.Error()
			}
			if reason == "" {
				fmt.Printf("met after %s: %s\n", time.Since(started).Round(100*time.Millisecond), d)
				continue
			}
			if said[d.String()] != reason {
				fmt.Printf("waiting for %s: %s\n", d, reason)
				said[d.String()] = reason
			}
			left = append(left, d)
		}
		if len(left) == 0 {
			return nil
		}
		waiting = left
		select {
		case <-ctx.Done():
			return fmt.Errorf("ended while waiting for %s", names(waiting))
		case <-time.After(pause):
			pause = min(pause*3/2, lastPause)
		}
	}
}

func names(dependencies []dependency) string {
	var all []string
	for _, d := range dependencies {
		all = append(all, d.String())
	}
	return strings.Join(all, ", ")
}
