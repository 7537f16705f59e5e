package main

import (
	"context"
	"fmt"
	"strings"
)

// customResource waits for fields of an object of any kind: each key is a path with dots, its value compared as text.
type customResource struct {
	APIVersion, Kind, Namespace, Name string
	Fields                            []struct{ Key, Value string }
}

func (r customResource) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

func (r customResource) missing(ctx context.Context, api *client) (string, error) {
	root := append([]string{"apis"}, strings.Split(r.APIVersion, "/")...)
	if !strings.Contains(r.APIVersion, "/") {
		root = []string{"api", r.APIVersion}
	}
	var known struct {
		Resources []struct {
			Name, Kind string
			Namespaced bool
		}
	}
	if err := api.get(ctx, &known, nil, root...); err != nil {
		return absent(err)
	}
	at := root
	for _, resource := range known.Resources {
		if resource.Kind == r.Kind && !strings.Contains(resource.Name, "/") {
			if resource.Namespaced {
				at = append(at, "namespaces", r.Namespace)
			}
			at = append(at, resource.Name, r.Name)
			break
		}
	}
	if len(at) == len(root) {
		return "the API does not know this kind yet", nil
	}
	var object map[string]any
	if err := api.get(ctx, &object, nil, at...); err != nil {
		return absent(err)
	}
	for _, field := range r.Fields {
		if value := lookUp(object, field.Key); value != field.Value {
			return fmt.Sprintf("%s is %q, not %q", field.Key, value, field.Value), nil
		}
	}
	return "", nil
}

func lookUp(object any, key string) string {
	for _, part := range strings.Split(strings.TrimPrefix(key, "."), ".") {
		fields, ok := object.(map[string]any)
		if !ok {
			return ""
		}
		object = fields[part]
	}
	if object == nil {
		return ""
	}
	return fmt.Sprint(object)
}
