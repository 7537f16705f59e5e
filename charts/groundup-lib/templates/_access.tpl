{{/*
Service accounts of a chart. Accounts that only wait share one role; `rules` gives an account more.
In: root, accounts (map: name -> list of rules, or empty).
*/}}
{{- define "groundup.access" -}}
{{- $root := .root -}}
{{- range $name, $rules := .accounts }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
{{- if $rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
rules:
  {{- toYaml $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end }}
---
# What the init container that waits has to see.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $root.Release.Name }}-wait
rules:
  - apiGroups: ["", batch, apps, discovery.k8s.io]
    resources: [services, endpoints, endpointslices, jobs, pods]
    verbs: [get, list]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $root.Release.Name }}-wait
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $root.Release.Name }}-wait
subjects:
  {{- range $name, $_ := .accounts }}
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ $root.Release.Namespace }}
  {{- end }}
{{- end }}
