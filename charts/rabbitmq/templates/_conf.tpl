{{/*
rabbitmq.conf: what the values say (maps are flattened to dotted keys), the listeners, and the names of all members.
Members are listed by name: who belongs to the cluster follows from the values and needs no word with the Kubernetes API.
*/}}
{{- define "rabbitmq.conf" -}}
{{- include "rabbitmq.flat" (dict "prefix" "" "map" .root.Values.conf.rabbitmq) -}}
listeners.tcp.1 = {{ .root.Values.conf.bind_address }}:{{ .amqp }}
{{- if .amqps }}
# For hosts outside the cluster. The files are read again for new connections: every two minutes what is on disk counts.
listeners.ssl.1 = {{ .root.Values.conf.bind_address }}:{{ .amqps }}
ssl_options.cacertfile = /run/secrets/tls/ca.crt
ssl_options.certfile = /run/secrets/tls/tls.crt
ssl_options.keyfile = /run/secrets/tls/tls.key
ssl_options.verify = verify_none
ssl_options.versions.1 = tlsv1.3
ssl_options.versions.2 = tlsv1.2
{{- end }}
management.tcp.port = {{ .http }}
load_definitions = /var/lib/rabbitmq/definitions.json
{{- $at := . }}
{{- $members := int .root.Values.pod.replicas.server }}
{{- if gt $members 1 }}
cluster_formation.peer_discovery_backend = classic_config
{{- range $ordinal := until $members }}
cluster_formation.classic_config.nodes.{{ add1 $ordinal }} = rabbit@{{ $at.name }}-{{ $ordinal }}.{{ $at.domain }}
{{- end }}
{{- end }}
{{ end }}

{{- define "rabbitmq.flat" -}}
{{- $prefix := .prefix -}}
{{- range $key, $value := .map -}}
{{- if kindIs "map" $value -}}
{{- include "rabbitmq.flat" (dict "prefix" (printf "%s%s." $prefix $key) "map" $value) -}}
{{- else if not (kindIs "invalid" $value) -}}
{{ $prefix }}{{ $key }} = {{ include "groundup.conf.value" $value }}
{{ end -}}
{{- end -}}
{{- end }}
