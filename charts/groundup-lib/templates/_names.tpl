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

{{/* What the values know under the first of several names, as JSON {"it": value}, or {}. In: map, names. */}}
{{- define "groundup.known" -}}
{{- $found := dict -}}
{{- range .names }}{{ if and (not $found) (hasKey $.map .) }}{{ $_ := set $found "it" (get $.map .) }}{{ end }}{{ end -}}
{{- $found | toJson -}}
{{- end }}

{{/* "true" unless the values switch an object off: <what>_<name>, or <what> alone. In: what, names, map of switches. */}}
{{- define "groundup.on" -}}
{{- $switches := list -}}
{{- range .names }}{{ $switches = append $switches (printf "%s_%s" $.what .) }}{{ end -}}
{{- $found := (include "groundup.known" (dict "map" .map "names" (append $switches .what)) | fromJson).it -}}
{{- if or $found (kindIs "invalid" $found) }}true{{ end -}}
{{- end }}
