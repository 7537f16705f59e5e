{{/*
The workloads of a service: APIs, workers, schedulers.

Per component, <key> -> ...:
  name      of the workload and its service account (default: <service>-<key>)
  label     its label `component` (default: <key>)
  known     names the values know it by, first one found wins: in manifests (deployment_<name>, pdb_<name>, service_<name>),
            labels, network (itself, where no name is in it), dependencies.static and, under pod, replicas, resources, probes, ... (default: [<key>])
  kind      Deployment or StatefulSet (default: Deployment)
  image     key of images.tags
  command   what runs; or, for an API,
  uwsgi     key under conf of its uWSGI options, which become /etc/<service>/<key>.ini; or
  apache    files Apache waits for before it starts
  endpoint  its key under endpoints: it gets a Service with `portName`, probes over HTTP and, where the values know one, a
            disruption budget
  port      key under the endpoint's port (default: api)
  check     command of its probes, when it has no endpoint: whether it is ready; alive only where the values say so
  single    one copy at a time may run: with several, the one that holds a Lease does, and the others wait (elected.py)
  mounts    its key under pod.mounts: more volumes of the values
  sources   its key under pod.etcSources: what else its service reads, in /etc/<service>/<service>.conf.d
  owns      paths of its volumes that are to be the service's own
  digest    of what else it reads: it is started anew when that changes
  env, envFrom, volumes   see _pod.tpl
*/}}
{{- define "groundup.component" -}}
{{- $component := .component -}}
{{- $values := .root.Values -}}
{{- $at := merge (dict "names" $component.known "map" $values.manifests) . -}}
{{- if include "groundup.on" (merge (dict "what" (lower ($component.kind | default "Deployment"))) $at) }}{{ include "groundup.component.workload" . }}{{ end }}
{{- if $component.endpoint }}
{{- if include "groundup.on" (merge (dict "what" "service") $at) }}{{ include "groundup.component.service" . }}{{ end }}
{{- $budget := (include "groundup.known" (dict "map" $values.pod.lifecycle.disruption_budget "names" $component.known) | fromJson).it }}
{{- if and $budget (include "groundup.on" (merge (dict "what" "pdb") $at)) }}
{{- include "groundup.disruptionBudget" (dict "root" .root "name" $component.name "component" $component.label "minimum" $budget.min_available) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Port number of a component with an endpoint. In: root, component. */}}
{{- define "groundup.component.port" -}}
{{- include "groundup.endpoint.port" (dict "root" .root "type" .component.endpoint "endpoint" "internal" "port" .component.port) -}}
{{- end }}

{{/* Seconds a component's pod has to end. In: root, component. */}}
{{- define "groundup.component.grace" -}}
{{- $grace := (include "groundup.known" (dict "map" (default dict .root.Values.pod.lifecycle.termination_grace_period) "names" .component.known) | fromJson).it | default dict -}}
{{- $grace.timeout | default 30 -}}
{{- end }}

{{/* An API's Service; with a node port it is what the site's edge balances over. */}}
{{- define "groundup.component.service" -}}
{{- $component := .component -}}
{{- $network := (include "groundup.known" (dict "map" .root.Values.network "names" $component.known) | fromJson).it | default .root.Values.network | default dict -}}
{{- $port := dict "name" $component.portName "port" (include "groundup.component.port" . | int) -}}
{{- /* A host asks its own pod while it is ready: for 40 s others go on asking a dead host's, as nobody told them. */ -}}
{{- $extra := "trafficDistribution: PreferSameNode" -}}
{{- if dig "node_port" "enabled" false $network -}}
{{- $_ := set $port "nodePort" (int $network.node_port.port) -}}
{{- $extra = printf "%s\ntype: NodePort%s" $extra (ternary "\nexternalTrafficPolicy: Local" "" (default false $network.external_policy_local)) -}}
{{- end -}}
{{- $name := include "groundup.endpoint.service" (dict "root" .root "type" $component.endpoint "endpoint" "internal") -}}
{{- include "groundup.service" (dict "root" .root "name" $name "component" $component.label "ports" (list $port) "extra" $extra) }}
{{- end }}

{{/* The Deployment or StatefulSet. */}}
{{- define "groundup.component.workload" -}}
{{- $at := . -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $pod := .root.Values.pod -}}
{{- $known := $component.known -}}
{{- $labels := include "groundup.labels" (dict "root" $root "component" $component.label) -}}
{{- $upgrades := $pod.lifecycle.upgrades.deployments -}}
{{- if $component.lease }}{{ include "groundup.lease" (dict "root" $root "name" $component.name "component" $component.label) }}{{ end }}
---
apiVersion: apps/v1
kind: {{ $component.kind | default "Deployment" }}
metadata:
  name: {{ $component.name }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  replicas: {{ (include "groundup.known" (dict "map" $pod.replicas "names" $known) | fromJson).it }}
  {{- if eq ($component.kind | default "") "StatefulSet" }}
  serviceName: {{ $component.name }}
  podManagementPolicy: Parallel
  {{- else }}
  revisionHistoryLimit: {{ $upgrades.revision_history }}
  strategy:
    type: {{ $upgrades.pod_replacement_strategy }}
    {{- if eq $upgrades.pod_replacement_strategy "RollingUpdate" }}
    rollingUpdate:
      maxUnavailable: {{ $upgrades.rolling_update.max_unavailable }}
      {{- /* All new copies come before an old one goes: what runs once moves once. */}}
      maxSurge: {{ ternary "100%" $upgrades.rolling_update.max_surge (not (empty $component.lease)) }}
    {{- end }}
  {{- end }}
  selector:
    matchLabels:
      {{- $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
      annotations:
        {{- include "groundup.digests" . | nindent 8 }}
        {{- with $component.digest }}
        objects-hash: {{ . }}
        {{- end }}
    spec:
      serviceAccountName: {{ $component.name }}
      automountServiceAccountToken: {{ if $component.rules }}true{{ else }}false{{ end }}
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ include "groundup.component.grace" $at }}
      {{- $port := "" }}{{ if $component.endpoint }}{{ $port = include "groundup.component.port" $at }}{{ end }}
      {{- include "groundup.pod.security" (dict "user" .profile.user "port" $port) | nindent 6 }}
      {{- include "groundup.pod.placement" (dict "root" $root "component" $component.label "known" $known "spread" true) | nindent 6 }}
      {{- $needs := (include "groundup.known" (dict "map" $root.Values.dependencies.static "names" $known) | fromJson).it }}
      {{- $wait := include "groundup.pod.wait" (merge (dict "needs" $needs) $at) }}
      {{- if or $wait $component.owns }}
      initContainers:
        {{- with $wait }}{{ . | nindent 8 }}{{ end }}
        {{- if $component.owns }}{{ include "groundup.pod.owner" $at | nindent 8 }}{{ end }}
      {{- end }}
      containers:
        - name: {{ $component.name }}
          {{- include "groundup.image" (dict "root" $root "image" $component.image) | nindent 10 }}
          command: {{ toJson $component.command }}
          {{- if $component.endpoint }}
          # A database whose host has died answers nothing and refuses nothing: without an end to waiting, all threads of
          # an API would hang in connections it keeps to it. Only here: what jobs ask the database may take its time.
          {{- range .profile.databases }}{{ if and . (not (contains ":" .)) }}
          {{- $_ := set $component "env" (merge ($component.env | default dict) (dict (printf "OS_%s__CONNECTION_PARAMETERS" (upper .)) "connect_timeout=5&read_timeout=15&write_timeout=15")) }}
          {{- end }}{{ end }}
          {{- end }}
          {{- include "groundup.pod.env" $component | nindent 10 }}
          {{- include "groundup.pod.containerSecurity" . | nindent 10 }}
          {{- include "groundup.pod.resources" (dict "root" $root "resources" (include "groundup.known" (dict "map" $pod.resources "names" $known) | fromJson).it) | nindent 10 }}
          {{- with $component.stop }}
          lifecycle:
            preStop:
              {{- toYaml . | nindent 14 }}
          {{- end }}
          {{- if $component.endpoint }}
          ports:
            - name: {{ $component.portName }}
              containerPort: {{ $port }}
          {{- end }}
          {{- include "groundup.component.probes" $at | nindent 10 }}
          {{- $mounts := dig ($component.mounts | default "") ($component.mounts | default "") dict ($pod.mounts | default dict) | default dict }}
          volumeMounts:
            {{- include "groundup.pod.mounts" (merge (dict "volumes" $component.volumes) $at) | nindent 12 }}
            {{- with $mounts.volumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
            {{- $sources := dig ($component.sources | default "") list ($pod.etcSources | default dict) }}
            {{- if $sources }}
            - name: sources
              mountPath: /etc/{{ .profile.service }}/{{ .profile.service }}.conf.d
              readOnly: true
            {{- end }}
      volumes:
        {{- include "groundup.pod.volumes" (merge (dict "volumes" $component.volumes) $at) | nindent 8 }}
        {{- if $wait }}{{ include "groundup.pod.waitAccess" . | nindent 8 }}{{ end }}
        {{- with $mounts.volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with $sources }}
        - name: sources
          projected:
            defaultMode: 0440
            sources:
              {{- toYaml . | nindent 14 }}
        {{- end }}
{{- end }}

{{/*
Probes: of an API its version page or health check, of others the command they name. Settings are the only entry under
pod.probes.<known>, the charts' name of the container.
*/}}
{{- define "groundup.component.probes" -}}
{{- $component := .component -}}
{{- $check := "" -}}
{{- if $component.endpoint -}}
{{- $path := dig $component.endpoint "path" "healthcheck" "" .root.Values.endpoints | default "/" -}}
{{- $check = printf "httpGet:\n  path: %s\n  port: %s" $path (include "groundup.component.port" .) -}}
{{- else if $component.check -}}
{{- $check = dict "exec" (dict "command" $component.check) | toYaml -}}
{{- end -}}
{{- if $check -}}
{{- $entry := (include "groundup.known" (dict "map" (.root.Values.pod.probes | default dict) "names" $component.known) | fromJson).it | default dict -}}
{{- $written := first (concat (values $entry) (list dict)) -}}
{{- /* A busy API answers late (api_probes in services/parts.py has why). */ -}}
{{- $times := dict "readiness" (dict "initialDelaySeconds" 5 "periodSeconds" 15 "timeoutSeconds" 20) "liveness" (dict "initialDelaySeconds" 60 "periodSeconds" 60 "timeoutSeconds" 60) -}}
{{- range $probe, $time := $times -}}
{{- $own := get $written $probe | default dict -}}
{{- /* A command says what a restart would not mend. */ -}}
{{- $on := hasKey $own "enabled" | ternary $own.enabled (or (not (empty $component.endpoint)) (eq $probe "readiness")) -}}
{{- $action := $check -}}
{{- /* What runs in one copy at a time says itself whether it is alive: of the service, a restart would mend nothing. */ -}}
{{- if and $component.alive (eq $probe "liveness") }}{{ $on = true }}{{ $action = dict "exec" (dict "command" $component.alive) | toYaml }}{{ end -}}
{{- $params := $own.params | default $time -}}
{{- with include "groundup.pod.probe" (dict "probe" (dict "enabled" $on "params" $params) "action" $action) }}
{{ $probe }}Probe:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
