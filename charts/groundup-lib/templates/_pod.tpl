{{/* What pods have in common: where they run, as whom, and what they wait for. */}}

{{/* Node selector, tolerations and anti-affinity. In: root, component, label (key of .Values.labels). */}}
{{- define "groundup.pod.placement" -}}
{{- $label := index .root.Values.labels .label -}}
nodeSelector:
  {{ $label.node_selector_key }}: {{ $label.node_selector_value }}
{{- $tolerations := dig .root.Chart.Name dict (.root.Values.pod.tolerations | default dict) }}
{{- if $tolerations.enabled }}
tolerations:
  {{- toYaml $tolerations.tolerations | nindent 2 }}
{{- end }}
{{- if .spread }}
{{- $anti := .root.Values.pod.affinity.anti }}
{{- $type := get $anti.type .component | default $anti.type.default }}
{{- $term := dict "topologyKey" (get $anti.topologyKey .component | default $anti.topologyKey.default) "labelSelector" (dict "matchLabels" (include "groundup.labels" . | fromYaml)) }}
affinity:
  podAntiAffinity:
    {{- if hasPrefix "required" $type }}
    {{ $type }}:
      - {{ toYaml $term | nindent 8 | trim }}
    {{- else }}
    {{ $type }}:
      - weight: {{ get $anti.weight .component | default $anti.weight.default }}
        podAffinityTerm:
          {{- toYaml $term | nindent 10 }}
    {{- end }}
{{- end }}
{{- end }}

{{/* A container's security: nothing it does not need. */}}
{{- define "groundup.pod.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* A pod's security. In: user (number). */}}
{{- define "groundup.pod.security" -}}
securityContext:
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  runAsNonRoot: true
  fsGroup: {{ .user }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* Requests and limits, when the site wants them. In: root, resources (map). */}}
{{- define "groundup.pod.resources" -}}
{{- if and .root.Values.pod.resources.enabled .resources -}}
resources:
  {{- toYaml .resources | nindent 2 }}
{{- end }}
{{- end }}

{{/* Names the pod waits for: "namespace:service,..." In: root, needs (an entry of dependencies.static). */}}
{{- define "groundup.pod.neededServices" -}}
{{- $root := .root -}}
{{- $names := list -}}
{{- range (.needs.services | default list) }}
{{- $at := dict "root" $root "type" .service "endpoint" .endpoint }}
{{- $names = append $names (printf "%s:%s" (include "groundup.endpoint.namespace" $at) (include "groundup.endpoint.service" $at)) }}
{{- end }}
{{- join "," $names -}}
{{- end }}

{{/*
The init container that waits for what dependencies.static.<key> names, told in the variables kubernetes-entrypoint
reads. Nothing at all when there is nothing to wait for: a container less to start. In: root, key.
*/}}
{{- define "groundup.pod.wait" -}}
{{- $needs := get (.root.Values.dependencies.static | default dict) .key | default dict -}}
{{- $services := include "groundup.pod.neededServices" (dict "root" .root "needs" $needs) -}}
{{- $jobs := join "," ($needs.jobs | default list) -}}
{{- if or $services $jobs $needs.pod -}}
- name: init
  {{- include "groundup.image" (dict "root" .root "image" "dep_check") | nindent 2 }}
  command: [kubernetes-entrypoint]
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    runAsUser: 65534
    runAsGroup: 65534
    capabilities:
      drop: [ALL]
  env:
    - name: POD_NAME
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    - name: NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
    - name: INTERFACE_NAME
      value: eth0
    - name: PATH
      value: /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/
    - name: DEPENDENCY_SERVICE
      value: {{ $services | quote }}
    - name: DEPENDENCY_JOBS
      value: {{ $jobs | quote }}
    - name: DEPENDENCY_POD_JSON
      value: {{ if $needs.pod }}{{ $needs.pod | toJson | quote }}{{ else }}""{{ end }}
{{- end }}
{{- end }}

{{/* Probe settings. In: probe (an entry of pod.probes), action (YAML of the check). Nothing when it is switched off. */}}
{{- define "groundup.pod.probe" -}}
{{- if .probe.enabled -}}
{{ .action }}
{{ toYaml .probe.params }}
{{- end }}
{{- end }}
