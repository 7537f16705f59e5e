{{/*
Jobs of a service, from its profile: name -> {manifest, image, command, weight, ...}.

They are Helm hooks, as in OpenStack-Helm: a Job cannot be changed, and an upgrade has to run the migrations of its own
image. Two things are different here. Every job is deleted and made anew by the next change of the release, never left
in its way. And jobs that only write keys start no service code: on small machines the start of Python and of the
service's libraries is what a job costs.

Per job:
  manifest   key of .Values.manifests that switches it
  image      key of images.tags
  command    what runs; scripts are in /opt/bin
  weight     order among the jobs of a release, lowest first (they run one after another)
  wait       key of dependencies.static (default: the job's name with underscores)
  secrets    names of Secrets it may read and change through the Kubernetes API
  keys       whether it sees the key repositories
  env        variables: name -> {value: <path in the values>} | {text} | {secret, key} | {endpoint}
  schedule   cron only: path in the values of the schedule; history: path of the history limits
*/}}
{{- define "groundup.jobs" -}}
{{- $root := .root -}}
{{- $profile := .profile -}}
{{- range $name, $job := $profile.jobs }}
{{- if get $root.Values.manifests $job.manifest }}
{{- $labels := include "groundup.labels" (dict "root" $root "component" $name) }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $profile.service }}-{{ $name }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    helm.sh/hook: post-install,post-upgrade
    helm.sh/hook-weight: {{ $job.weight | quote }}
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  backoffLimit: 30
  template:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
    spec:
      {{- include "groundup.job.pod" (dict "root" $root "profile" $profile "name" $name "job" $job) | nindent 6 }}
{{- end }}
{{- end }}
{{- range $name, $job := $profile.cron }}
{{- if get $root.Values.manifests $job.manifest }}
{{- $labels := include "groundup.labels" (dict "root" $root "component" $name) }}
{{- $history := (include "groundup.value" (dict "root" $root "path" $job.history) | fromJson).it }}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ $profile.service }}-{{ $name }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  schedule: {{ (include "groundup.value" (dict "root" $root "path" $job.schedule) | fromJson).it | quote }}
  successfulJobsHistoryLimit: {{ $history.success }}
  failedJobsHistoryLimit: {{ $history.failed }}
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
          {{- include "groundup.job.pod" (dict "root" $root "profile" $profile "name" $name "job" $job) | nindent 10 }}
{{- end }}
{{- end }}
{{- end }}

{{/* A job's pod. In: root, profile, name, job. */}}
{{- define "groundup.job.pod" -}}
{{- $root := .root -}}
{{- $job := .job -}}
{{- $component := .name | replace "-" "_" -}}
{{- $wait := include "groundup.pod.wait" (dict "root" $root "key" ($job.wait | default $component)) -}}
{{- $seen := .profile -}}
{{- if not $job.keys }}{{ $seen = omit .profile "keys" }}{{ end -}}
{{- $at := dict "root" $root "profile" $seen -}}
serviceAccountName: {{ .profile.service }}-{{ .name }}
automountServiceAccountToken: {{ if or $wait $job.secrets }}true{{ else }}false{{ end }}
enableServiceLinks: false
restartPolicy: OnFailure
{{ include "groundup.pod.security" (dict "user" .profile.user) }}
{{ include "groundup.pod.placement" (dict "root" $root "component" .name "label" "job") }}
{{- with $wait }}
initContainers:
  {{- . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .profile.service }}-{{ .name }}
    {{- include "groundup.image" (dict "root" $root "image" $job.image) | nindent 4 }}
    command: {{ toJson $job.command }}
    {{- include "groundup.pod.containerSecurity" . | nindent 4 }}
    {{- include "groundup.pod.resources" (dict "root" $root "resources" (get $root.Values.pod.resources.jobs $component)) | nindent 4 }}
    env:
      - name: NAMESPACE
        value: {{ $root.Release.Namespace }}
      {{- range $variable, $from := $job.env }}
      - name: {{ $variable }}
        {{- if $from.secret }}
        valueFrom:
          secretKeyRef:
            name: {{ (include "groundup.value" (dict "root" $root "path" $from.secret) | fromJson).it }}
            key: {{ $from.key }}
        {{- else if $from.endpoint }}
        value: {{ include "groundup.endpoint.url" (dict "root" $root "type" $seen.endpoint "endpoint" $from.endpoint "port" "api") | quote }}
        {{- else if $from.text }}
        value: {{ $from.text | quote }}
        {{- else }}
        value: {{ (include "groundup.value" (dict "root" $root "path" $from.value) | fromJson).it | include "groundup.conf.value" | quote }}
        {{- end }}
      {{- end }}
    volumeMounts:
      {{- include "groundup.api.mounts" $at | nindent 6 }}
volumes:
  {{- include "groundup.api.volumes" $at | nindent 2 }}
{{- end }}
