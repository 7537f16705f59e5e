{{/*
Addresses from .Values.endpoints, by the rules of OpenStack-Helm: an endpoint (internal, public, admin) that is not
written falls back to `default`; a name without an override is completed with namespace and cluster domain.
*/}}

{{/* The value of one endpoint in a map, or the plain value when it is no map. In: of, endpoint. */}}
{{- define "groundup.endpoint.pick" -}}
{{- if kindIs "map" .of -}}
{{- $picked := get .of .endpoint -}}
{{- if kindIs "invalid" $picked }}{{ $picked = get .of "default" }}{{ end -}}
{{- if and (kindIs "string" $picked) (not $picked) }}{{ $picked = get .of "default" }}{{ end -}}
{{- if kindIs "map" $picked }}{{ get $picked "host" }}{{ else if not (kindIs "invalid" $picked) }}{{ $picked }}{{ end -}}
{{- else if not (kindIs "invalid" .of) -}}
{{- .of -}}
{{- end -}}
{{- end }}

{{/* Name of the Service. In: root, type, endpoint. */}}
{{- define "groundup.endpoint.service" -}}
{{- include "groundup.endpoint.pick" (dict "of" (index .root.Values.endpoints .type "hosts") "endpoint" .endpoint) -}}
{{- end }}

{{/* Namespace of the Service. In: root, type. */}}
{{- define "groundup.endpoint.namespace" -}}
{{- index .root.Values.endpoints .type "namespace" | default .root.Release.Namespace -}}
{{- end }}

{{/* Full host name. In: root, type, endpoint. */}}
{{- define "groundup.endpoint.host" -}}
{{- $written := include "groundup.endpoint.pick" (dict "of" (index .root.Values.endpoints .type "host_fqdn_override") "endpoint" .endpoint) -}}
{{- if $written -}}
{{- $written -}}
{{- else -}}
{{- include "groundup.endpoint.service" . }}.{{ include "groundup.endpoint.namespace" . }}.svc.{{ .root.Values.endpoints.cluster_domain_suffix -}}
{{- end -}}
{{- end }}

{{/* Port number. In: root, type, endpoint, port. */}}
{{- define "groundup.endpoint.port" -}}
{{- include "groundup.endpoint.pick" (dict "of" (index .root.Values.endpoints .type "port" .port) "endpoint" .endpoint) -}}
{{- end }}

{{/* Scheme. In: root, type, endpoint. */}}
{{- define "groundup.endpoint.scheme" -}}
{{- include "groundup.endpoint.pick" (dict "of" (index .root.Values.endpoints .type "scheme") "endpoint" .endpoint) -}}
{{- end }}

{{/* URL without credentials; a scheme's own port is left out. In: root, type, endpoint, port. */}}
{{- define "groundup.endpoint.url" -}}
{{- $scheme := include "groundup.endpoint.scheme" . -}}
{{- $port := include "groundup.endpoint.port" . -}}
{{- $usual := or (and (eq $scheme "http") (eq $port "80")) (and (eq $scheme "https") (eq $port "443")) -}}
{{- $scheme }}://{{ include "groundup.endpoint.host" . }}{{ if not $usual }}:{{ $port }}{{ end -}}
{{- include "groundup.endpoint.pick" (dict "of" (index .root.Values.endpoints .type "path") "endpoint" .endpoint) -}}
{{- end }}

{{/* URL with an account. In: root, type, endpoint, port, account; scheme to take another than the endpoint's. */}}
{{- define "groundup.endpoint.accountUrl" -}}
{{- $account := index .root.Values.endpoints .type "auth" .account -}}
{{- .scheme | default (include "groundup.endpoint.scheme" .) }}://{{ $account.username | urlquery }}:{{ $account.password | urlquery }}@
{{- include "groundup.endpoint.host" . }}:{{ include "groundup.endpoint.port" . -}}
{{- include "groundup.endpoint.pick" (dict "of" (index .root.Values.endpoints .type "path") "endpoint" .endpoint) -}}
{{- end }}

{{/* oslo.messaging's URL: one address a RabbitMQ pod, so that a client goes on with the next. In: root, account. */}}
{{- define "groundup.endpoint.transportUrl" -}}
{{- $queue := .root.Values.endpoints.oslo_messaging -}}
{{- $account := index $queue.auth .account -}}
{{- $at := dict "root" .root "type" "oslo_messaging" "endpoint" "internal" "port" "amqp" -}}
{{- $addresses := list -}}
{{- range $ordinal := until (int $queue.statefulset.replicas) -}}
{{- $pod := printf "%s-%d.%s" $queue.statefulset.name $ordinal (include "groundup.endpoint.host" $at) -}}
{{- $addresses = append $addresses (printf "%s:%s@%s:%s" ($account.username | urlquery) ($account.password | urlquery) $pod (include "groundup.endpoint.port" $at)) -}}
{{- end -}}
{{- include "groundup.endpoint.scheme" $at }}://{{ join "," $addresses }}{{ $queue.path -}}
{{- end }}
