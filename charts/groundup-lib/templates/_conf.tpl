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

{{/* One file of the profile's config. In: root, profile, name, conf (path under .Values.conf; with a dot before it, under
.Values), omit (sections). */}}
{{- define "groundup.conf.file" -}}
{{- $value := hasPrefix "." .conf | ternary .root.Values .root.Values.conf -}}
{{- range splitList "." (trimPrefix "." .conf) }}{{ $value = get ($value | default dict) . }}{{ end -}}
{{- if not (kindIs "map" $value) }}{{ tpl ($value | default "") .root }}
{{- else if hasSuffix ".yaml" .name }}{{ if not $value }}{{ printf "# By itself, the next line is JSON, which upgrade checks refuse.\n" }}{{ end }}{{ $value | toYaml }}
{{- else if hasSuffix ".json" .name }}{{ $value | toJson }}
{{- else -}}
{{- $value = deepCopy $value -}}
{{- $derived := dict -}}
{{- if eq .conf .profile.service }}{{ $derived = include "groundup.conf.derived" . | fromYaml }}{{ end -}}
{{- range .profile.components }}{{ if eq (.uwsgi | default "") $.conf }}{{ $derived = include "groundup.conf.uwsgi" (dict "root" $.root "component" .) | fromYaml }}{{ end }}{{ end -}}
{{- /* A written option wins; an empty one asks for what follows from the endpoints. */ -}}
{{- range $section, $options := $derived -}}
{{- $written := get $value $section | default dict -}}
{{- range $option, $it := $options -}}
{{- if has (get $written $option) (list nil "") }}{{ $_ := set $written $option $it }}{{ end -}}
{{- end -}}
{{- $_ := set $value $section $written -}}
{{- end -}}
{{- range .omit }}{{ $_ := unset $value . }}{{ end -}}
{{- include "groundup.conf.ini" $value | trim }}{{ printf "\n" }}
{{- end -}}
{{- end }}

{{/* Connection of one database: as written, else from the endpoint. In: root, profile, type. */}}
{{- define "groundup.conf.database" -}}
{{- $derived := include "groundup.endpoint.accountUrl" (dict "root" .root "type" .type "endpoint" "internal" "port" "mysql" "account" .profile.service) -}}
{{- dig (get .profile.databases .type) "connection" "" (get .root.Values.conf .profile.service) | default $derived -}}
{{- end }}

{{/* Sections that follow from the endpoints: databases, queue, credentials, options. In: root, profile. Out: YAML. */}}
{{- define "groundup.conf.derived" -}}
{{- $at := . -}}
{{- $root := .root -}}
{{- $service := .profile.service -}}
{{- $endpoints := .root.Values.endpoints -}}
{{- $derived := dict -}}
{{- range $type, $section := .profile.databases -}}
{{- if $section }}{{ $_ := set $derived $section (dict "connection" (include "groundup.conf.database" (merge (dict "type" $type) $at))) }}{{ end -}}
{{- end -}}
{{- if dig "oslo_messaging" "auth" $service "" $endpoints -}}
{{- $_ := set $derived "DEFAULT" (dict "transport_url" (include "groundup.endpoint.transportUrl" (dict "root" $root "account" $service))) -}}
{{- end -}}
{{- $identity := dict "root" $root "type" "identity" "port" "api" -}}
{{- range $account, $section := .profile.accounts -}}
{{- $one := index $endpoints.identity.auth $account -}}
{{- $options := dict "auth_type" "password" "auth_url" (include "groundup.endpoint.url" (merge (dict "endpoint" "internal") $identity)) -}}
{{- range list "region_name" "project_name" "project_domain_name" "user_domain_name" "username" "password" -}}
{{- $_ := set $options . (get $one .) -}}
{{- end -}}
{{- if eq $section "keystone_authtoken" -}}
{{- $_ := set $options "www_authenticate_uri" (include "groundup.endpoint.url" (merge (dict "endpoint" "public") $identity)) -}}
{{- $_ := set $options "service_type" (first $at.profile.catalog) -}}
{{- end -}}
{{- if $section }}{{ $_ := set $derived $section $options }}{{ end -}}
{{- end -}}
{{- merge $derived (.profile.options | default dict) | toYaml -}}
{{- end }}

{{/*
What every uWSGI server is told unless the values say otherwise: the endpoint's port, an end to a server whose application
does not load, a graceful end, and no connections kept alive, since it would reset them. In: root, component. Out: YAML.
*/}}
{{- define "groundup.conf.uwsgi" -}}
uwsgi:
  http-socket: 0.0.0.0:{{ include "groundup.component.port" . }}
  need-app: true
  master: true
  processes: 1
  enable-threads: true
  lazy-apps: true
  thunder-lock: true
  buffer-size: 65535
  socket-timeout: 90
  add-header: "Connection: close"
  die-on-term: true
  exit-on-reload: false
  hook-master-start: unix_signal:15 gracefully_kill_them_all
  worker-reload-mercy: 80
  log-x-forwarded-for: true
{{- end }}
