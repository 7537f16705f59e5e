package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sort"
	"strings"
)

// dependency is one thing a pod waits for. missing says what is not there yet, "" when it is met.
type dependency interface {
	fmt.Stringer
	missing(ctx context.Context, api *client) (string, error)
}

// parse reads the variables the charts set. Names are "name" or "namespace:name", separated by commas:
//
//	DEPENDENCY_SERVICE          services with at least one ready address
//	DEPENDENCY_JOBS             jobs that have completed
//	DEPENDENCY_JOBS_JSON        the same as [{"name" or "labels", "namespace"}]
//	DEPENDENCY_DAEMONSET        daemon sets whose pod on this node is ready
//	DEPENDENCY_CONTAINER        containers of this pod that are ready
//	DEPENDENCY_POD_JSON         [{"labels", "namespace", "requireSameNode"}]: a ready pod that has the labels
//	DEPENDENCY_SOCKET           files that this container can open
//	DEPENDENCY_CUSTOM_RESOURCE  [{"apiVersion", "kind", "namespace", "name", "fields": [{"key", "value"}]}]
func parse(env func(string) string) ([]dependency, error) {
	namespace := env("NAMESPACE")
	if namespace == "" {
		namespace = "default"
	}
	self := podName{namespace, env("POD_NAME")}
	var found []dependency
	for _, n := range list(env("DEPENDENCY_SERVICE"), namespace) {
		found = append(found, service(n))
	}
	for _, n := range list(env("DEPENDENCY_JOBS"), namespace) {
		found = append(found, job{Name: n.name, Namespace: n.namespace})
	}
	for _, n := range list(env("DEPENDENCY_DAEMONSET"), namespace) {
		found = append(found, daemonSet{n, self})
	}
	for _, name := range words(env("DEPENDENCY_CONTAINER")) {
		found = append(found, container{name, self})
	}
	for _, file := range words(env("DEPENDENCY_SOCKET")) {
		found = append(found, socket(file))
	}
	var jobs []job
	var pods []pod
	var resources []customResource
	for variable, target := range map[string]any{
		"DEPENDENCY_JOBS_JSON": &jobs, "DEPENDENCY_POD_JSON": &pods, "DEPENDENCY_CUSTOM_RESOURCE": &resources,
	} {
		if text := strings.TrimSpace(env(variable)); text != "" {
			if err := json.Unmarshal([]byte(text), target); err != nil {
				return nil, fmt.Errorf("%s is not what the charts write there: %w", variable, err)
			}
		}
	}
	for _, j := range jobs {
		j.Namespace = either(j.Namespace, namespace)
		found = append(found, j)
	}
	for _, p := range pods {
		p.Namespace, p.self = either(p.Namespace, namespace), self
		found = append(found, p)
	}
	for _, r := range resources {
		r.Namespace = either(r.Namespace, namespace)
		found = append(found, r)
	}
	if text := env("DEPENDENCY_CONFIG"); strings.TrimSpace(text) != "" {
		return nil, errors.New("DEPENDENCY_CONFIG is not supported: no chart of the release uses it")
	}
	return found, nil
}

type name struct{ namespace, name string }

type podName name

func (n name) String() string { return n.namespace + "/" + n.name }

func list(text, namespace string) []name {
	var names []name
	for _, word := range words(text) {
		if before, after, ok := strings.Cut(word, ":"); ok {
			names = append(names, name{before, after})
		} else {
			names = append(names, name{namespace, word})
		}
	}
	return names
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

func either(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

type service name

func (s service) String() string { return "service " + name(s).String() }

// Endpoints, not EndpointSlices: they are what the charts' roles allow to read.
func (s service) missing(ctx context.Context, api *client) (string, error) {
	var endpoints struct {
		Subsets []struct{ Addresses []struct{ IP string } }
	}
	err := api.get(ctx, &endpoints, nil, "api", "v1", "namespaces", s.namespace, "endpoints", s.name)
	if err != nil {
		return absent(err)
	}
	for _, subset := range endpoints.Subsets {
		if len(subset.Addresses) > 0 {
			return "", nil
		}
	}
	return "no ready address", nil
}

type job struct {
	Name, Namespace string
	Labels          map[string]string
}

type jobObject struct {
	Metadata struct{ Name string }
	Status   struct {
		Succeeded  int
		Conditions []struct{ Type, Status string }
	}
}

func (j job) String() string {
	if j.Name != "" {
		return "job " + j.Namespace + "/" + j.Name
	}
	return "jobs " + j.Namespace + "/" + selector(j.Labels)
}

func (j job) missing(ctx context.Context, api *client) (string, error) {
	at := []string{"apis", "batch", "v1", "namespaces", j.Namespace, "jobs"}
	if j.Name != "" {
		var object jobObject
		if err := api.get(ctx, &object, nil, append(at, j.Name)...); err != nil {
			return absent(err)
		}
		return object.unfinished(), nil
	}
	if len(j.Labels) == 0 {
		return "", errors.New("a job dependency has neither name nor labels")
	}
	var found struct{ Items []jobObject }
	if err := api.get(ctx, &found, url.Values{"labelSelector": {selector(j.Labels)}}, at...); err != nil {
		return "", err
	}
	for _, object := range found.Items {
		if reason := object.unfinished(); reason != "" {
			return object.Metadata.Name + " " + reason, nil
		}
	}
	if len(found.Items) == 0 {
		return "not there yet", nil
	}
	return "", nil
}

func (j jobObject) unfinished() string {
	for _, c := range j.Status.Conditions {
		if c.Type == "Complete" && c.Status == "True" {
			return ""
		}
		if c.Type == "Failed" && c.Status == "True" {
			return "has failed"
		}
	}
	if j.Status.Succeeded > 0 {
		return ""
	}
	return "has not completed"
}

type podObject struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct {
		Conditions        []struct{ Type, Status string }
		ContainerStatuses []struct {
			Name  string
			Ready bool
		}
	}
}

func (p podObject) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

func (n podName) read(ctx context.Context, api *client) (podObject, error) {
	var object podObject
	if n.name == "" {
		return object, errors.New("POD_NAME is not set")
	}
	err := api.get(ctx, &object, nil, "api", "v1", "namespaces", n.namespace, "pods", n.name)
	return object, err
}

type pod struct {
	Labels          map[string]string
	Namespace       string
	RequireSameNode bool
	self            podName
}

func (p pod) String() string {
	where := ""
	if p.RequireSameNode {
		where = " on this node"
	}
	return "pod " + p.Namespace + "/" + selector(p.Labels) + where
}

func (p pod) missing(ctx context.Context, api *client) (string, error) {
	if len(p.Labels) == 0 {
		return "", errors.New("a pod dependency has no labels")
	}
	query := url.Values{"labelSelector": {selector(p.Labels)}}
	if p.RequireSameNode {
		self, err := p.self.read(ctx, api)
		if err != nil {
			return "", err
		}
		query.Set("fieldSelector", "spec.nodeName="+self.Spec.NodeName)
	}
	var found struct{ Items []podObject }
	if err := api.get(ctx, &found, query, "api", "v1", "namespaces", p.Namespace, "pods"); err != nil {
		return "", err
	}
	for _, object := range found.Items {
		if object.ready() {
			return "", nil
		}
	}
	return fmt.Sprintf("%d there, none ready", len(found.Items)), nil
}

type daemonSet struct {
	name
	self podName
}

func (d daemonSet) String() string { return "daemon set " + d.name.String() }

func (d daemonSet) missing(ctx context.Context, api *client) (string, error) {
	var object struct {
		Spec struct {
			Selector struct{ MatchLabels map[string]string }
		}
	}
	err := api.get(ctx, &object, nil, "apis", "apps", "v1", "namespaces", d.namespace, "daemonsets", d.name.name)
	if err != nil {
		return absent(err)
	}
	return pod{object.Spec.Selector.MatchLabels, d.namespace, true, d.self}.missing(ctx, api)
}

type container struct {
	name string
	self podName
}

func (c container) String() string { return "container " + c.name }

func (c container) missing(ctx context.Context, api *client) (string, error) {
	self, err := c.self.read(ctx, api)
	if err != nil {
		return "", err
	}
	for _, status := range self.Status.ContainerStatuses {
		if status.Name == c.name && status.Ready {
			return "", nil
		}
	}
	return "not ready", nil
}

type socket string

func (s socket) String() string { return "file " + string(s) }

func (s socket) missing(context.Context, *client) (string, error) {
	if _, err := os.Stat(string(s)); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

// absent turns "no such object" into a reason to wait; a missing permission stays an error and is shown as such.
func absent(err error) (string, error) {
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		return "not there yet", nil
	}
	return "", err
}

func selector(labels map[string]string) string {
	var parts []string
	for key, value := range labels {
		parts = append(parts, key+"="+value)
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}
