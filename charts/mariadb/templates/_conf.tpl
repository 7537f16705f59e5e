{{/* Option files. Later files win: the chart's, the site's, what has to be so, and last the member's own (start.py). */}}
{{- define "mariadb.etc" -}}
{{- $database := .Values.conf.database -}}
{{- $files := dict
      "my.cnf" (tpl $database.my .)
      "00-base.cnf" (tpl (index $database "00_base") .)
      "99-force.cnf" (tpl (index $database "99_force") .) -}}
{{- with $database.config_override }}{{ $_ := set $files "20-override.cnf" . }}{{ end -}}
{{- $files | toYaml -}}
{{- end }}

{{/* A client's option file. In: user, host, port. */}}
{{- define "mariadb.client" -}}
[client]
user = {{ .user.username }}
password = "{{ .user.password }}"
host = {{ .host }}
port = {{ .port }}
{{ end }}

{{/* One digest of several scripts. In: root, files (list of names). */}}
{{- define "mariadb.hash" -}}
{{- $root := .root -}}
{{- $texts := list -}}
{{- range .files }}{{ $texts = append $texts (include "groundup.file" (dict "root" $root "name" .)) }}{{ end -}}
{{- join "" $texts | sha256sum -}}
{{- end }}

{{/* The label of the member that writes, or nothing: with one member, or without the controller that names it. */}}
{{- define "mariadb.writer" -}}
{{- if and .Values.manifests.deployment_controller (gt (int .Values.pod.replicas.server) 1) -}}
openstack.groundup.cloud/writer
{{- end -}}
{{- end }}

{{- /* What the controller is made of: its pods are replaced when one of these files changes. */}}
{{- define "mariadb.controllerFiles" -}}
mariadb_controller.py lease.py shared_object.py
{{- end }}
