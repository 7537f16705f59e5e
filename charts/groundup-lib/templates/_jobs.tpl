{{/*
Jobs of a service, from its profile and shared by all: db-init, rabbit-init and identity.

A Job cannot be changed, so its name ends in a digest of what it does: image, command, scripts, configuration and accounts.
It is made anew when one of these changes, and whoever waits for OpenStack-Helm's job of that purpose waits for that very
Job: a pod of a new image never starts on the schema of the old one, nor with a password that no job has set yet.

A job with a weight is a Helm hook, as all of OpenStack-Helm's are: deleted and made anew by the next change of the release,
one after another, after its pods were made. Pods that wait for it are content with the one of the last change: only for
what stays as it is once made, and for what needs the pods.

Per job:
  manifest  key of .Values.manifests that switches it (default: job_<name> or cron_<name>)
  image     key of images.tags
  command   what runs; scripts are in /opt/bin
  weight    order among the hooks, lowest first
  events    the hook's (default: post-install,post-upgrade)
  migration of db-sync: what migrate.py does, see there. With `contract`, there is a job db-contract: a hook of upgrades,
            which waits until every pod is of the new image. A fresh install has none
  needs     what it waits for, instead of an entry of dependencies.static
  wait      key of dependencies.static and pod.resources.jobs (default: the job's name with underscores)
  replaces  jobs of OpenStack-Helm it stands for, without the service's name
  rules     what its service account may do in the Kubernetes API
  settings  cron only, key under jobs: schedule and history
  schedule  cron only, instead of settings
  env, envFrom, volumes   see _pod.tpl
*/}}
{{- define "groundup.jobs" -}}
{{- $at := . -}}
{{- $root := .root -}}
{{- $service := .profile.service -}}
{{- range $name, $job := .profile.jobs }}
{{- $one := merge (dict "name" $name "job" $job) $at }}
{{- $labels := include "groundup.labels" (dict "root" $root "component" $name) }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "groundup.job.name" $one }}
  labels:
    {{- $labels | nindent 4 }}
  {{- if hasKey $job "weight" }}
  annotations:
    helm.sh/hook: {{ $job.events | default "post-install,post-upgrade" }}
    helm.sh/hook-weight: {{ $job.weight | quote }}
    helm.sh/hook-delete-policy: before-hook-creation
  {{- end }}
spec:
  {{- /* Nothing makes a job without a hook anew: it goes on until what it needs is there. */}}
  backoffLimit: {{ ternary 30 1000 (hasKey $job "weight") }}
  template:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
    spec:
      {{- include "groundup.job.pod" $one | nindent 6 }}
{{- end }}
{{- range $name, $job := .profile.cron }}
{{- $labels := include "groundup.labels" (dict "root" $root "component" $name) }}
{{- $settings := dict "cron" $job.schedule "history" (dict "success" 1 "failed" 1) }}
{{- if not $job.schedule }}{{ $settings = index $root.Values.jobs ($job.settings | default (replace "-" "_" $name)) }}{{ end }}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ $service }}-{{ $name }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  schedule: {{ $settings.cron | quote }}
  successfulJobsHistoryLimit: {{ $settings.history.success }}
  failedJobsHistoryLimit: {{ $settings.history.failed }}
  concurrencyPolicy: Forbid
  jobTemplate:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
    spec:
      backoffLimit: 6
      template:
        metadata:
          labels:
            {{- $labels | nindent 12 }}
        spec:
          {{- include "groundup.job.pod" (merge (dict "name" $name "job" $job) $at) | nindent 10 }}
{{- end }}
{{- end }}

{{/* Jobs every service has that has what they are for. In: root, profile. Out: YAML. */}}
{{- define "groundup.jobs.shared" -}}
{{- $secrets := .root.Values.secrets -}}
{{- with .profile.databases }}
db-init:
  image: db_init
  command: [python3, /opt/bin/db-init.py]
  env:
    {{- range $type, $_ := . }}
    ADMIN_{{ $type }}: {secretKeyRef: {name: {{ index $secrets $type "admin" }}, key: DB_CONNECTION}}
    SERVICE_{{ $type }}: {secretKeyRef: {name: {{ index $secrets $type "admin" }}, key: SERVICE_DB_CONNECTION}}
    {{- end }}
{{- end }}
{{- with $secrets.oslo_messaging }}
rabbit-init:
  image: rabbit_init
  command: [python3, /opt/bin/rabbit-init.py]
  env:
    RABBITMQ_ADMIN_CONNECTION: {secretKeyRef: {name: {{ .admin }}, key: RABBITMQ_CONNECTION}}
    RABBITMQ_USER_CONNECTION: {secretKeyRef: {name: {{ get . $.profile.service }}, key: RABBITMQ_CONNECTION}}
{{- end }}
{{- if .profile.accounts }}
identity:
  manifest: job_ks_user
  image: ks_user
  command: [python3, /opt/bin/identity.py, /run/identity/identity.json]
  wait: ks_user
  replaces: [ks-user, ks-service, ks-endpoints]
  envFrom: [{{ $secrets.identity.admin }}]
  volumes:
    - path: /run/identity
      volume: {secret: {secretName: {{ .profile.service }}-etc, defaultMode: 288, items: [{key: identity.json, path: identity.json}]}}
{{- end }}
{{- end }}

{{/*
The jobs, with what `migration` of db-sync makes of it and of db-contract, as JSON. In: root, profile, jobs.
*/}}
{{- define "groundup.jobs.migrating" -}}
{{- $jobs := .jobs -}}
{{- with (get $jobs "db-sync" | default dict).migration -}}
{{- $sync := get $jobs "db-sync" -}}
{{- $pods := dict "apiGroups" (list "") "resources" (list "pods") "verbs" (list "list") -}}
{{- $sets := dict "apiGroups" (list "apps") "resources" (list "replicasets") "verbs" (list "list") -}}
{{- $env := dict "NAMESPACE" $.root.Release.Namespace "APPLICATION" $.profile.service
      "IMAGES" (values $.root.Values.images.tags | uniq | sortAlpha | join ",") -}}
{{- $_ := set $sync "command" (list "python3" "/opt/bin/migrate.py" "sync" (toJson .)) -}}
{{- $_ := set $sync "rules" (list $pods) -}}
{{- $_ := set $sync "env" (merge (dict) $env ($sync.env | default dict)) -}}
{{- if .contract -}}
{{- $_ := set $jobs "db-contract" (dict
      "image" $sync.image "manifest" "job_db_sync" "weight" 10 "events" "post-upgrade" "wait" "db_sync"
      "needs" (dict "jobs" (list (printf "%s-db-sync" $.profile.service)))
      "command" (list "python3" "/opt/bin/migrate.py" "contract" (toJson (dict "contract" .contract)))
      "rules" (list $pods $sets) "env" $env "volumes" $sync.volumes) -}}
{{- end -}}
{{- end -}}
{{- $jobs | toJson -}}
{{- end }}

{{/* The jobs or cron jobs that the values do not switch off, as JSON. In: root, jobs, prefix of the switch. */}}
{{- define "groundup.jobs.on" -}}
{{- $on := dict -}}
{{- range $name, $job := .jobs -}}
{{- $switch := $job.manifest | default (printf "%s_%s" $.prefix (replace "-" "_" $name)) -}}
{{- if get $.root.Values.manifests $switch }}{{ $_ := set $on $name $job }}{{ end -}}
{{- end -}}
{{- $on | toJson -}}
{{- end }}

{{/* Name of a job. In: root, profile, name, job. */}}
{{- define "groundup.job.name" -}}
{{- .profile.service }}-{{ .name }}
{{- if not (hasKey .job "weight") }}-{{ printf "%s%s%s" (include "groundup.job.pod" .) (include "groundup.digests" .) (include "groundup.connections" .) | sha256sum | trunc 8 }}{{ end -}}
{{- end }}

{{/* A job's pod. In: root, profile, name, job. */}}
{{- define "groundup.job.pod" -}}
{{- $root := .root -}}
{{- $job := .job -}}
{{- $key := $job.wait | default (replace "-" "_" .name) -}}
{{- $wait := include "groundup.pod.wait" (merge (dict "needs" ($job.needs | default (get $root.Values.dependencies.static $key))) .) -}}
{{- $at := merge (dict "volumes" $job.volumes) . -}}
serviceAccountName: {{ .profile.service }}-{{ .name }}
automountServiceAccountToken: {{ if $job.rules }}true{{ else }}false{{ end }}
enableServiceLinks: false
restartPolicy: OnFailure
{{ include "groundup.pod.security" (dict "user" .profile.user) }}
{{ include "groundup.pod.placement" (dict "root" $root "component" .name "known" (list "job")) }}
{{- with $wait }}
initContainers:
  {{- . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .profile.service }}-{{ .name }}
    {{- include "groundup.image" (dict "root" $root "image" $job.image) | nindent 4 }}
    command: {{ toJson $job.command }}
    {{- include "groundup.pod.env" $job | nindent 4 }}
    {{- include "groundup.pod.containerSecurity" . | nindent 4 }}
    {{- include "groundup.pod.resources" (dict "root" $root "resources" (get $root.Values.pod.resources.jobs $key)) | nindent 4 }}
    volumeMounts:
      {{- include "groundup.pod.mounts" $at | nindent 6 }}
volumes:
  {{- include "groundup.pod.volumes" $at | nindent 2 }}
  {{- if $wait }}{{ include "groundup.pod.waitAccess" . | nindent 2 }}{{ end }}
{{- end }}
