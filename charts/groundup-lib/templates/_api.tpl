{{/*
An API service from its profile (profile.yaml of its chart): configuration, keys, jobs, the API itself. A service is
what its profile says; everything that can differ between sites comes from the values.

The profile:
  service    name of the service: its section under conf, its account on database and queue
  endpoint   its key under endpoints: identity, image, ...
  portName   name of the API's port on the Service
  user       uid of the service in its image
  config     files of Secret <service>-etc: name -> {format: ini | yaml | json | text, value: <path in the values>,
             derived: true where what follows from the endpoints (database, queue, cache) is added, as in the main file}
  files      files of the service in the pod: [{name, path, from: etc | bin}]
  scripts    names below files/ of the chart that pods run; they are put into ConfigMap <service>-bin
  texts      more of that ConfigMap: name -> <path in the values of its text>
  scratch    directories a pod may write to
  keys       Secrets kept for the service's life, filled by jobs: [{name, path: <path in the values of the directory>,
             manifest: <key of .Values.manifests that switches it>}]
  api        {component, image, command, stop}
  jobs       name -> see _jobs.tpl
  cron       name -> see _jobs.tpl
*/}}
{{- define "groundup.apiService" -}}
{{- $root := .root -}}
{{- $profile := .profile -}}
{{- $at := dict "root" $root "profile" $profile -}}
{{- $manifests := $root.Values.manifests -}}
{{- include "groundup.api.access" $at }}
{{- include "groundup.api.secrets" $at }}
{{- if $manifests.configmap_bin }}{{ include "groundup.api.bin" $at }}{{ end }}
{{- if $manifests.configmap_etc }}{{ include "groundup.api.etc" $at }}{{ end }}
{{- include "groundup.api.keys" $at }}
{{- if $manifests.service_api }}{{ include "groundup.api.service" $at }}{{ end }}
{{- if $manifests.pdb_api }}
{{- include "groundup.disruptionBudget" (dict "root" $root "name" (printf "%s-api" $profile.service) "component" "api" "minimum" $root.Values.pod.lifecycle.disruption_budget.api.min_available) }}
{{- end }}
{{- if $manifests.deployment_api }}{{ include "groundup.api.deployment" $at }}{{ end }}
{{- include "groundup.jobs" $at }}
{{- include "groundup.extraObjects" $root }}
{{- end }}

{{/* Service accounts: one a workload, as OpenStack-Helm names them. */}}
{{- define "groundup.api.access" -}}
{{- $profile := .profile -}}
{{- $values := .root.Values -}}
{{- $accounts := dict (printf "%s-api" $profile.service) list -}}
{{- range $name, $job := merge (dict) ($profile.jobs | default dict) ($profile.cron | default dict) }}
{{- if get $values.manifests $job.manifest }}
{{- $rules := list }}
{{- with $job.secrets }}
{{- $rules = list (dict "apiGroups" (list "") "resources" (list "secrets") "resourceNames" . "verbs" (list "get" "patch")) }}
{{- end }}
{{- $_ := set $accounts (printf "%s-%s" $profile.service $name) $rules }}
{{- end }}
{{- end }}
{{- include "groundup.access" (dict "root" .root "accounts" $accounts) }}
{{- end }}

{{/* Secrets others rely on: the administrator's openrc, the database administrator's connection. */}}
{{- define "groundup.api.secrets" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- if $values.manifests.secret_keystone }}
{{- range $user, $secret := $values.secrets.identity }}
{{- $account := index $values.endpoints.identity.auth $user }}
{{- include "groundup.secret" (dict "name" $secret "data" (dict
      "OS_AUTH_URL" (include "groundup.endpoint.url" (dict "root" $root "type" "identity" "endpoint" "internal" "port" "api"))
      "OS_REGION_NAME" $account.region_name
      "OS_INTERFACE" ($account.interface | default "internal")
      "OS_PROJECT_DOMAIN_NAME" $account.project_domain_name
      "OS_PROJECT_NAME" $account.project_name
      "OS_USER_DOMAIN_NAME" $account.user_domain_name
      "OS_USERNAME" $account.username
      "OS_PASSWORD" $account.password
      "OS_DEFAULT_DOMAIN" ($account.default_domain_id | default "default"))) }}
{{- end }}
{{- end }}
{{- if $values.manifests.secret_db }}
{{- $db := dict "root" $root "type" "oslo_db" "endpoint" "internal" "port" "mysql" "account" "admin" }}
{{- include "groundup.secret" (dict "name" $values.secrets.oslo_db.admin "data" (dict "DB_CONNECTION" (include "groundup.endpoint.accountUrl" $db))) }}
{{- end }}
{{- end }}

{{/* Scripts. */}}
{{- define "groundup.api.bin" -}}
{{- $root := .root -}}
{{- $data := dict -}}
{{- range .profile.scripts }}
{{- $_ := set $data . ($root.Files.Get (printf "files/%s" .)) }}
{{- end }}
{{- range $name, $path := .profile.texts }}
{{- $_ := set $data $name ((include "groundup.value" (dict "root" $root "path" $path) | fromJson).it | default "") }}
{{- end }}
{{- include "groundup.configMap" (dict "name" (printf "%s-bin" .profile.service) "data" $data) }}
{{- end }}

{{/* One configuration file. In: root, service, file ({format, value, derived}). */}}
{{- define "groundup.api.file" -}}
{{- $value := (include "groundup.value" (dict "root" .root "path" .file.value) | fromJson).it -}}
{{- if .file.derived }}{{ $value = mergeOverwrite (deepCopy $value) (include "groundup.conf.derived" . | fromYaml) }}{{ end -}}
{{- if eq .file.format "ini" }}{{ include "groundup.conf.ini" $value | trim }}{{ printf "\n" }}
{{- else if eq .file.format "yaml" }}{{ $value | toYaml }}
{{- else if eq .file.format "json" }}{{ $value | toJson }}
{{- else }}{{ tpl $value .root }}
{{- end -}}
{{- end }}

{{/* Configuration: a Secret, since it holds passwords. */}}
{{- define "groundup.api.etc" -}}
{{- $root := .root -}}
{{- $service := .profile.service -}}
{{- $data := dict -}}
{{- range $name, $file := .profile.config }}
{{- $_ := set $data $name (include "groundup.api.file" (dict "root" $root "service" $service "file" $file)) }}
{{- end }}
{{- include "groundup.secret" (dict "name" (printf "%s-etc" $service) "data" $data) }}
{{- end }}

{{/*
Key repositories: empty Secrets that jobs fill and nothing ever empties. Made before anything else, never removed by
Helm, and left alone when they are there already: losing them would end every token and every stored credential.
*/}}
{{- define "groundup.api.keys" -}}
{{- $root := .root -}}
{{- range .profile.keys }}
{{- if and (get $root.Values.manifests .manifest) (not (lookup "v1" "Secret" $root.Release.Namespace .name)) }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .name }}
  annotations:
    helm.sh/hook: pre-install
    helm.sh/hook-delete-policy: hook-failed
    helm.sh/resource-policy: keep
type: Opaque
{{- end }}
{{- end }}
{{- end }}

{{/* The API's Service; with a node port it is what the site's edge balances over. */}}
{{- define "groundup.api.service" -}}
{{- $values := .root.Values -}}
{{- $node := $values.network.api.node_port -}}
{{- $port := dict "name" .profile.portName "port" (include "groundup.endpoint.port" (dict "root" .root "type" .profile.endpoint "endpoint" "internal" "port" "api") | int) -}}
{{- $extra := "" -}}
{{- if $node.enabled -}}
{{- $_ := set $port "nodePort" (int $node.port) -}}
{{- $extra = printf "type: NodePort%s" (ternary "\nexternalTrafficPolicy: Local" "" (default false $values.network.api.external_policy_local)) -}}
{{- end -}}
{{- include "groundup.service" (dict "root" .root "name" (printf "%s-api" .profile.service) "component" "api" "ports" (list $port) "extra" $extra) }}
{{- end }}

{{/* Volumes every pod of the service has. In: root, profile. */}}
{{- define "groundup.api.volumes" -}}
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
{{- range .profile.keys }}
- name: {{ .name }}
  secret:
    secretName: {{ .name }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* Mounts every pod of the service has. In: root, profile. */}}
{{- define "groundup.api.mounts" -}}
{{- $root := .root -}}
- name: bin
  mountPath: /opt/bin
  readOnly: true
{{- range .profile.scratch }}
- name: scratch
  mountPath: {{ . }}
  subPath: {{ trimPrefix "/" . | replace "/" "-" }}
{{- end }}
{{- range .profile.files }}
- name: {{ .from }}
  mountPath: {{ .path }}
  subPath: {{ .name }}
  readOnly: true
{{- end }}
{{- range .profile.keys }}
- name: {{ .name }}
  mountPath: {{ (include "groundup.value" (dict "root" $root "path" .path) | fromJson).it | trimSuffix "/" }}
  readOnly: true
{{- end }}
{{- end }}

{{/* Digests that roll a pod when its scripts or its configuration change. In: root, profile. */}}
{{- define "groundup.api.digests" -}}
configmap-bin-hash: {{ include "groundup.api.bin" . | sha256sum }}
configmap-etc-hash: {{ include "groundup.api.etc" . | sha256sum }}
{{- end }}

{{/* The API. */}}
{{- define "groundup.api.deployment" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $profile := .profile -}}
{{- $name := printf "%s-api" $profile.service -}}
{{- $labels := include "groundup.labels" (dict "root" $root "component" "api") -}}
{{- $upgrades := $values.pod.lifecycle.upgrades.deployments -}}
{{- $port := include "groundup.endpoint.port" (dict "root" $root "type" $profile.endpoint "endpoint" "internal" "port" "api") -}}
{{- $path := get (index $values.endpoints $profile.endpoint "path") "healthcheck" -}}
{{- $check := printf "httpGet:\n  path: %s\n  port: %s" $path $port -}}
{{- $probes := $values.pod.probes.api.api }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  replicas: {{ $values.pod.replicas.api }}
  revisionHistoryLimit: {{ $upgrades.revision_history }}
  selector:
    matchLabels:
      {{- $labels | nindent 6 }}
  strategy:
    type: {{ $upgrades.pod_replacement_strategy }}
    {{- if eq $upgrades.pod_replacement_strategy "RollingUpdate" }}
    rollingUpdate:
      maxUnavailable: {{ $upgrades.rolling_update.max_unavailable }}
      maxSurge: {{ $upgrades.rolling_update.max_surge }}
    {{- end }}
  template:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
      annotations:
        {{- include "groundup.api.digests" . | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ $values.pod.lifecycle.termination_grace_period.api.timeout }}
      {{- include "groundup.pod.security" (dict "user" $profile.user) | nindent 6 }}
      {{- include "groundup.pod.placement" (dict "root" $root "component" "api" "label" "api" "spread" true) | nindent 6 }}
      {{- with include "groundup.pod.wait" (dict "root" $root "key" "api") }}
      initContainers:
        {{- . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ $name }}
          {{- include "groundup.image" (dict "root" $root "image" $profile.api.image) | nindent 10 }}
          command: {{ toJson $profile.api.command }}
          # A database whose host has died answers nothing and refuses nothing: without an end to waiting, all threads of
          # the API would hang in connections it keeps to it. Only here: what jobs ask the database may take its time.
          env:
            - name: OS_DATABASE__CONNECTION_PARAMETERS
              value: connect_timeout=5&read_timeout=15&write_timeout=15
          {{- include "groundup.pod.containerSecurity" . | nindent 10 }}
          {{- include "groundup.pod.resources" (dict "root" $root "resources" $values.pod.resources.api) | nindent 10 }}
          {{- with $profile.api.stop }}
          lifecycle:
            preStop:
              exec:
                command: {{ toJson . }}
          {{- end }}
          ports:
            - name: {{ $profile.portName }}
              containerPort: {{ $port }}
          {{- with include "groundup.pod.probe" (dict "probe" $probes.readiness "action" $check) }}
          readinessProbe:
            {{- . | nindent 12 }}
          {{- end }}
          {{- with include "groundup.pod.probe" (dict "probe" $probes.liveness "action" $check) }}
          livenessProbe:
            {{- . | nindent 12 }}
          {{- end }}
          volumeMounts:
            {{- include "groundup.api.mounts" . | nindent 12 }}
      volumes:
        {{- include "groundup.api.volumes" . | nindent 8 }}
{{- end }}
