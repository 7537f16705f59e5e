{{/* Small objects every chart has. */}}

{{/* A Secret. In: name, data (map of plain strings). */}}
{{- define "groundup.secret" }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .name }}
type: Opaque
data:
  {{- range $key, $value := .data }}
  {{ $key }}: {{ $value | b64enc | quote }}
  {{- end }}
{{- end }}

{{/* A file of the chart, or of the library. In: root, name. */}}
{{- define "groundup.file" -}}
{{- $path := printf "files/%s" .name -}}
{{- .root.Files.Get $path | default ((index .root.Subcharts "groundup-lib").Files.Get $path) -}}
{{- end }}

{{/* A Lease. Who holds it is written by pods, and nothing here, so that Helm leaves it. In: root, name, component. */}}
{{- define "groundup.lease" }}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: {{ .name }}
  labels:
    {{- include "groundup.labels" . | nindent 4 }}
{{- end }}

{{/* A ConfigMap. In: name, data (map of strings). */}}
{{- define "groundup.configMap" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name }}
data:
  {{- range $key, $value := .data }}
  {{ $key }}: |
    {{- $value | nindent 4 }}
  {{- end }}
{{- end }}

{{/* A disruption budget. In: root, name, component, minimum. */}}
{{- define "groundup.disruptionBudget" }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
spec:
  minAvailable: {{ .minimum }}
  # A pod that is not healthy is no reason to keep its node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "groundup.labels" . | nindent 6 }}
{{- end }}

{{/* A Service. In: root, name, component, ports (list), headless, unready, extra (YAML lines of the spec), selector (more labels). */}}
{{- define "groundup.service" }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  labels:
    {{- include "groundup.labels" . | nindent 4 }}
spec:
  {{- if .headless }}
  clusterIP: None
  {{- end }}
  {{- if .unready }}
  publishNotReadyAddresses: true
  {{- end }}
  {{- with .extra }}
  {{- . | nindent 2 }}
  {{- end }}
  ports:
    {{- toYaml .ports | nindent 4 }}
  selector:
    {{- include "groundup.labels" . | nindent 4 }}
    {{- with .selector }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Whatever else the site's values ask for, as OpenStack-Helm's charts do: a list or a map of manifests. In: root. */}}
{{- define "groundup.extraObjects" }}
{{- $root := . }}
{{- range .Values.extraObjects }}
---
{{ tpl (toYaml .) $root }}
{{- end }}
{{- end }}
