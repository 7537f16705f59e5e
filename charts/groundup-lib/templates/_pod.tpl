{{/* What pods have in common: where they run, as whom, and what they wait for. */}}

{{/* Node selector, tolerations and anti-affinity. In: root, component, known (keys of .Values.labels), spread. */}}
{{- define "groundup.pod.placement" -}}
{{- $label := (include "groundup.known" (dict "map" .root.Values.labels "names" .known) | fromJson).it -}}
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

{{/* A pod's security. In: user (number), port it listens on: below 1024, too, without being root. */}}
{{- define "groundup.pod.security" -}}
securityContext:
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  runAsNonRoot: true
  fsGroup: {{ .user }}
  seccompProfile:
    type: RuntimeDefault
  {{- if and .port (lt (int .port) 1024) }}
  sysctls:
    - {name: net.ipv4.ip_unprivileged_port_start, value: {{ .port | quote }}}
  {{- end }}
{{- end }}

{{/* Requests and limits, when the site wants them. In: root, resources (map). */}}
{{- define "groundup.pod.resources" -}}
{{- if and .root.Values.pod.resources.enabled .resources -}}
resources:
  {{- toYaml .resources | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The init container that waits for an entry of dependencies.static, told in the variables kubernetes-entrypoint reads.
Nothing at all when there is nothing to wait for: a container less to start. In: root, profile, needs.
*/}}
{{- define "groundup.pod.wait" -}}
{{- $at := . -}}
{{- $needs := .needs | default dict -}}
{{- $services := list -}}
{{- range $needs.services -}}
{{- $endpoint := dict "root" $at.root "type" .service "endpoint" .endpoint -}}
{{- $services = append $services (printf "%s:%s" (include "groundup.endpoint.namespace" $endpoint) (include "groundup.endpoint.service" $endpoint)) -}}
{{- end -}}
{{- $jobs := list -}}
{{- range $wanted := $needs.jobs -}}
{{- $found := $wanted -}}
{{- range $name, $job := $at.profile.jobs -}}
{{- if and (not (hasKey $job "weight")) (has (trimPrefix (printf "%s-" $at.profile.service) $wanted) (append ($job.replaces | default list) $name)) -}}
{{- $found = include "groundup.job.name" (dict "root" $at.root "profile" $at.profile "name" $name "job" $job) -}}
{{- end -}}
{{- end -}}
{{- $jobs = append $jobs $found -}}
{{- end -}}
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
      value: {{ join "," $services | quote }}
    - name: DEPENDENCY_JOBS
      value: {{ $jobs | uniq | join "," | quote }}
    - name: DEPENDENCY_POD_JSON
      value: {{ if $needs.pod }}{{ $needs.pod | toJson | quote }}{{ else }}""{{ end }}
  volumeMounts:
    - name: wait-access
      mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      readOnly: true
{{- end }}
{{- end }}

{{/*
The volume of the service account's token, as Kubernetes would mount it into every container: only the one that waits has
it. What runs for the pod's whole life asks the Kubernetes API nothing.
*/}}
{{- define "groundup.pod.waitAccess" -}}
- name: wait-access
  projected:
    defaultMode: 0444
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3607}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
      - downwardAPI: {items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]}
{{- end }}

{{/* Probe settings. In: probe (an entry of pod.probes), action (YAML of the check). Nothing when it is switched off. */}}
{{- define "groundup.pod.probe" -}}
{{- if .probe.enabled -}}
{{ .action }}
{{ toYaml .probe.params }}
{{- end }}
{{- end }}

{{/*
Variables of a container. In: env (name -> text, or a map for valueFrom), envFrom (Secrets whose keys are variables).
*/}}
{{- define "groundup.pod.env" -}}
{{- with .envFrom }}
envFrom:
  {{- range . }}
  - secretRef:
      name: {{ . }}
  {{- end }}
{{- end }}
{{- with .env }}
env:
  {{- range $name, $from := . }}
  - name: {{ $name }}
    {{- if kindIs "map" $from }}
    valueFrom:
      {{- toYaml $from | nindent 6 }}
    {{- else }}
    value: {{ $from | quote }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/*
The init container that gives fresh volumes their owner: a volume is root's, and an fsGroup does nothing to one of a local
directory. In: root, profile, component.
*/}}
{{- define "groundup.pod.owner" -}}
- name: {{ .component.name }}-perms
  {{- include "groundup.image" (dict "root" .root "image" .component.image) | nindent 2 }}
  command: {{ toJson (concat (list "chown" (printf "%v:%v" .profile.user .profile.user)) .component.owns) }}
  securityContext:
    runAsUser: 0
    runAsNonRoot: false
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
      add: [CHOWN]
  volumeMounts:
    {{- range .component.owns }}
    - name: {{ base . }}
      mountPath: {{ . }}
    {{- end }}
{{- end }}

{{/* Volumes of a service's pod. In: profile, volumes (the pod's own: [{path, volume: as Kubernetes takes it}]). */}}
{{- define "groundup.pod.volumes" -}}
- name: scratch
  emptyDir: {}
- name: etc
  secret:
    secretName: {{ .profile.service }}-etc
    defaultMode: 0440
- name: bin
  configMap:
    name: {{ .profile.service }}-bin
    defaultMode: 0555
{{- range .volumes }}
- name: {{ base .path }}
  {{- toYaml .volume | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where they are mounted. In: profile, volumes. */}}
{{- define "groundup.pod.mounts" -}}
- name: bin
  mountPath: /opt/bin
  readOnly: true
{{- range .profile.scratch }}
- name: scratch
  mountPath: {{ . }}
  subPath: {{ trimPrefix "/" . | replace "/" "-" }}
{{- end }}
{{- range $name, $file := .profile.config }}{{ if $file.path }}
- name: etc
  mountPath: {{ $file.path }}
  subPath: {{ $name }}
  readOnly: true
{{- end }}{{ end }}
{{- range .volumes }}
- name: {{ base .path }}
  mountPath: {{ .path }}
  readOnly: {{ or (hasKey .volume "secret") (hasKey .volume "projected") }}
{{- end }}
{{- end }}

{{/* Digests that roll a pod when its scripts or its configuration change. In: root, profile. */}}
{{- define "groundup.digests" -}}
configmap-bin-hash: {{ include "groundup.bin" . | sha256sum }}
configmap-etc-hash: {{ include "groundup.etc" . | sha256sum }}
{{- end }}
