{{/* Labels and images. The labels are the ones OpenStack-Helm's selectors and dashboards use, and Kubernetes' own. */}}

{{/* Labels of a component. In: root, component. */}}
{{- define "groundup.labels" -}}
release_group: {{ .root.Values.release_group | default .root.Release.Name }}
application: {{ .root.Chart.Name }}
component: {{ .component }}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{/* Image and pull policy of a container. In: root, image (key of images.tags). */}}
{{- define "groundup.image" -}}
image: {{ required (printf "images.tags.%s has no image" .image) (index .root.Values.images.tags .image) | quote }}
imagePullPolicy: {{ .root.Values.images.pull_policy }}
{{- end }}

{{/* A value by its dotted path, as JSON {"it": value}; null when it is absent. In: root, path. */}}
{{- define "groundup.value" -}}
{{- $here := .root.Values -}}
{{- range splitList "." .path -}}
{{- if kindIs "map" $here }}{{ $here = index $here . }}{{ else }}{{ $here = nil }}{{ end -}}
{{- end -}}
{{- dict "it" $here | toJson -}}
{{- end }}
