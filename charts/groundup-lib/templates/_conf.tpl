{{/* Configuration files from values. */}}

{{/* One option's value as oslo.config reads it. In: the value. */}}
{{- define "groundup.conf.value" -}}
{{- if kindIs "slice" . -}}
{{- $words := list -}}
{{- range . }}{{ $words = append $words (include "groundup.conf.value" .) }}{{ end -}}
{{- join "," $words -}}
{{- else if kindIs "float64" . -}}
{{- if eq (floor .) . }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end }}

{{/* An INI file: sections and options in alphabetical order, options that are null left out. In: map of maps. */}}
{{- define "groundup.conf.ini" -}}
{{- range $section, $options := . }}
[{{ $section }}]
{{- range $option, $value := $options }}
{{- if not (kindIs "invalid" $value) }}
{{ $option }} = {{ include "groundup.conf.value" $value }}
{{- end }}
{{- end }}
{{ end -}}
{{- end }}

{{/*
What every OpenStack service's file holds beside the values: database, message queue and cache, from the endpoints.
An option that is written wins. In: root, service. Out: YAML of sections.
*/}}
{{- define "groundup.conf.derived" -}}
{{- $root := .root -}}
{{- $written := get $root.Values.conf .service -}}
{{- $derived := dict -}}
{{- $database := dict "root" $root "type" "oslo_db" "endpoint" "internal" "port" "mysql" "account" .service -}}
{{- if not (dig "database" "connection" "" $written) }}
{{- $_ := set $derived "database" (dict "connection" (include "groundup.endpoint.accountUrl" $database)) }}
{{- end }}
{{- if not (dig "DEFAULT" "transport_url" "" $written) }}
{{- $_ := set $derived "DEFAULT" (dict "transport_url" (include "groundup.endpoint.transportUrl" (dict "root" $root "account" .service))) }}
{{- end }}
{{- if not (dig "cache" "memcache_servers" "" $written) }}
{{- $at := dict "root" $root "type" "oslo_cache" "endpoint" "internal" "port" "memcache" }}
{{- $_ := set $derived "cache" (dict "memcache_servers" (printf "%s:%s" (include "groundup.endpoint.host" $at) (include "groundup.endpoint.port" $at))) }}
{{- end }}
{{- $derived | toYaml -}}
{{- end }}
