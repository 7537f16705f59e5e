{{/*
An OpenStack service from its profile, profile.yaml of its chart: configuration, Secrets, components, jobs. The profile
says what the service is and is itself a template; what differs between sites comes from the values. A chart's whole
template is `include "groundup.openstack" .`.

The profile:
  service     name of the service: its section under conf, its account in the database, queue and identity
  user        uid of the service in its image
  catalog     service types to register in Keystone, each a key under endpoints: [image], [orchestration, ...]
  official    type of catalog -> the official one, which gets the same endpoints: {volumev3: block-storage}
  accounts    account under endpoints.identity.auth -> section of its credentials (default: the service's own,
              keystone_authtoken; none without a catalog); "" for an account that no section has in this way
  domainAccounts  accounts there that have a domain and no project; roles: roles to make that none of these accounts has
  databases   endpoint -> section of its connection, "" for none (default: oslo_db: database)
  options     section -> option -> value: what else follows from the endpoints
  config      files of Secret <service>-etc: name -> <path under conf>, or {conf, path, omit}; conf "" is an empty file, one
              with a dot before it a path under all values, path in the pod is /etc/<service>/<name> unless written, "" for one no pod has; sections of omit are left out. Text
              is a template, a map becomes YAML or JSON by its file's name and INI otherwise. logging.conf and policy.yaml
              are every service's.
  scratch     directories a pod may write to (default: /tmp, /var/lock, /var/lib/<service>)
  components  name -> see _components.tpl
  jobs, cron  name -> see _jobs.tpl
All files of the chart's files/ are in /opt/bin of its pods.
*/}}
{{- define "groundup.openstack" -}}
{{- $at := dict "root" . "profile" (include "groundup.profile" . | fromJson) -}}
{{- include "groundup.serviceAccounts" $at }}
{{- include "groundup.connections" $at }}
{{- if .Values.manifests.configmap_bin }}{{ include "groundup.bin" $at }}{{ end }}
{{- if .Values.manifests.configmap_etc }}{{ include "groundup.etc" $at }}{{ end }}
{{- range $at.profile.components }}
{{- include "groundup.component" (merge (dict "component" .) $at) }}
{{- end }}
{{- include "groundup.jobs" $at }}
{{- include "groundup.extraObjects.waiting" $at }}
{{- end }}

{{/* Whatever else the values ask for. Who waits there for a job by OpenStack-Helm's name waits for ours. In: root, profile. */}}
{{- define "groundup.extraObjects.waiting" -}}
{{- $at := . -}}
{{- $objects := include "groundup.extraObjects" .root -}}
{{- range $name, $job := .profile.jobs -}}
{{- $waits := printf `(name: DEPENDENCY_JOBS\n +value: (?:[a-z0-9-]+,)*)%s-%s((?:,[a-z0-9-]+)*\n)` $at.profile.service $name -}}
{{- $objects = regexReplaceAll $waits $objects (printf "${1}%s${2}" (include "groundup.job.name" (merge (dict "name" $name "job" $job) $at))) -}}
{{- end -}}
{{- $objects -}}
{{- end }}

{{/* The profile as JSON, with everything that follows from it. In: root. */}}
{{- define "groundup.profile" -}}
{{- $profile := tpl (.Files.Get "profile.yaml") . | fromYaml -}}
{{- with $profile.Error }}{{ fail (printf "profile.yaml: %s" .) }}{{ end -}}
{{- $service := $profile.service -}}
{{- if not (hasKey $profile "databases") }}{{ $_ := set $profile "databases" (dict "oslo_db" "database") }}{{ end -}}
{{- if and $profile.catalog (not $profile.accounts) }}{{ $_ := set $profile "accounts" (dict $service "keystone_authtoken") }}{{ end -}}
{{- if not $profile.scratch }}{{ $_ := set $profile "scratch" (list "/tmp" "/var/lock" (printf "/var/lib/%s" $service)) }}{{ end -}}
{{- $config := dict "logging.conf" "logging" "policy.yaml" "policy" -}}
{{- $components := dict -}}
{{- range $key, $component := $profile.components -}}
{{- $defaults := dict "name" (printf "%s-%s" $service $key) "label" $key "known" (list (replace "-" "_" $key)) "port" "api" -}}
{{- if $component.uwsgi -}}
{{- $file := printf "%s.ini" (replace "_" "-" $component.uwsgi) -}}
{{- $_ := set $config $file $component.uwsgi -}}
{{- $_ := set $defaults "command" (list "uwsgi" "--ini" (printf "/etc/%s/%s" $service $file)) -}}
{{- $_ := set $defaults "stop" (dict "sleep" (dict "seconds" 5)) -}}
{{- else if hasKey $component "apache" -}}
{{- $_ := set $defaults "command" (concat (list "/opt/bin/apache.sh" "start") $component.apache) -}}
{{- $_ := set $defaults "stop" (dict "exec" (dict "command" (list "/opt/bin/apache.sh" "stop"))) -}}
{{- end -}}
{{- $component = merge $component $defaults -}}
{{- $copies := (include "groundup.known" (dict "map" $.Values.pod.replicas "names" $component.known) | fromJson).it -}}
{{- if and $component.single (gt (int $copies) 1) }}{{ $component = merge (include "groundup.elected" (dict "root" $ "component" $component) | fromJson) $component }}{{ end -}}
{{- $_ := set $components $key $component -}}
{{- end -}}
{{- $files := dict -}}
{{- range $name, $from := merge ($profile.config | default dict) $config -}}
{{- if kindIs "string" $from }}{{ $from = dict "conf" $from }}{{ end -}}
{{- $_ := set $files $name (hasKey $from "path" | ternary $from (merge $from (dict "path" (printf "/etc/%s/%s" $service $name)))) -}}
{{- end -}}
{{- $_ := set $profile "config" $files -}}
{{- $_ := set $profile "components" $components -}}
{{- $jobs := merge ($profile.jobs | default dict) (include "groundup.jobs.shared" (dict "root" . "profile" $profile) | fromYaml) -}}
{{- $jobs = include "groundup.jobs.migrating" (dict "root" . "profile" $profile "jobs" $jobs) | fromJson -}}
{{- $_ := set $profile "jobs" (include "groundup.jobs.on" (dict "root" . "jobs" $jobs "prefix" "job") | fromJson) -}}
{{- $_ := set $profile "cron" (include "groundup.jobs.on" (dict "root" . "jobs" $profile.cron "prefix" "cron") | fromJson) -}}
{{- $profile | toJson -}}
{{- end }}

{{/* Service accounts: one a workload, as OpenStack-Helm names them. */}}
{{- define "groundup.serviceAccounts" -}}
{{- $accounts := dict -}}
{{- range .profile.components }}{{ $_ := set $accounts .name (.rules | default list) }}{{ end -}}
{{- $service := .profile.service -}}
{{- range $name, $job := merge (dict) .profile.jobs .profile.cron }}
{{- $_ := set $accounts (printf "%s-%s" $service $name) ($job.rules | default list) }}
{{- end }}
{{- include "groundup.access" (dict "root" .root "accounts" $accounts) }}
{{- end }}

{{/* Secrets with the connections of secrets.{identity,oslo_db*,oslo_messaging}: openrc, database, message queue. */}}
{{- define "groundup.connections" -}}
{{- $root := .root -}}
{{- $profile := .profile -}}
{{- $values := .root.Values -}}
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
{{- range $type, $secrets := $values.secrets }}
{{- if and (hasPrefix "oslo_db" $type) (hasKey $profile.databases $type) $values.manifests.secret_db }}
{{- range $account, $secret := $secrets }}
{{- $data := dict "DB_CONNECTION" (include "groundup.endpoint.accountUrl" (dict "root" $root "type" $type "endpoint" "internal" "port" "mysql" "account" $account)) }}
{{- if eq $account "admin" }}
{{- $_ := set $data "SERVICE_DB_CONNECTION" (include "groundup.conf.database" (dict "root" $root "profile" $profile "type" $type)) }}
{{- end }}
{{- include "groundup.secret" (dict "name" $secret "data" $data) }}
{{- end }}
{{- else if and (eq $type "oslo_messaging") $values.manifests.secret_rabbitmq }}
{{- range $account, $secret := $secrets }}
{{- include "groundup.secret" (dict "name" $secret "data" (dict
      "RABBITMQ_CONNECTION" (include "groundup.endpoint.accountUrl" (dict "root" $root "type" $type "endpoint" "internal" "port" "http" "account" $account)))) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What a component gets of which one copy at a time may run (elected.py). In: root, component. */}}
{{- define "groundup.elected" -}}
{{- $field := dict "POD_NAME" "metadata.name" "NAMESPACE" "metadata.namespace" -}}
{{- $grace := sub (include "groundup.component.grace" . | int) 5 -}}
{{- $env := dict "LEASE" .component.name "GRACE" ($grace | toString) -}}
{{- range $name, $path := $field }}{{ $_ := set $env $name (dict "fieldRef" (dict "fieldPath" $path)) }}{{ end -}}
{{- dict
      "lease" true
      "command" (concat (list "python3" "/opt/bin/elected.py") .component.command)
      "check" (concat (list "/opt/bin/elected-probe.sh" "ready") (.component.check | default list))
      "alive" (list "/opt/bin/elected-probe.sh" "alive")
      "env" (merge $env (.component.env | default dict))
      "rules" (list (dict "apiGroups" (list "coordination.k8s.io") "resources" (list "leases")
          "resourceNames" (list .component.name) "verbs" (list "get" "patch"))) | toJson -}}
{{- end }}

{{/* Scripts: the chart's own, and the library's that its pods run. */}}
{{- define "groundup.bin" -}}
{{- $root := .root -}}
{{- $data := dict -}}
{{- range $path, $content := .root.Files.Glob "files/*" }}{{ $_ := set $data (base $path) (toString $content) }}{{ end -}}
{{- $files := list "apache.sh" "connected.py" "db-init.py" "elected.py" "elected-probe.sh" "identity.py" "migrate.py" "rabbit-init.py" -}}
{{- $commands := list -}}
{{- range concat (values .profile.components) (values .profile.jobs) (values .profile.cron) }}{{ $commands = concat $commands .command (.check | default list) }}{{ end -}}
{{- range $name := $files -}}
{{- if has (printf "/opt/bin/%s" $name) $commands -}}
{{- range append (eq $name "elected.py" | ternary (list "lease.py" "shared_object.py") list) $name }}{{ $_ := set $data . (include "groundup.file" (dict "root" $root "name" .)) }}{{ end -}}
{{- end -}}
{{- end }}
{{- include "groundup.configMap" (dict "name" (printf "%s-bin" .profile.service) "data" $data) }}
{{- end }}

{{/* Configuration: a Secret, since it holds passwords. */}}
{{- define "groundup.etc" -}}
{{- $at := . -}}
{{- $data := dict -}}
{{- range $name, $file := .profile.config }}
{{- $_ := set $data $name (include "groundup.conf.file" (merge (dict "name" $name "conf" $file.conf "omit" $file.omit) $at)) }}
{{- end }}
{{- if hasKey .profile.jobs "identity" }}{{ $_ := set $data "identity.json" (include "groundup.identity" .) }}{{ end }}
{{- include "groundup.secret" (dict "name" (printf "%s-etc" .profile.service) "data" $data) }}
{{- end }}

{{/* What identity.py makes in Keystone, as JSON. */}}
{{- define "groundup.identity" -}}
{{- $root := .root -}}
{{- $service := .profile.service -}}
{{- $endpoints := .root.Values.endpoints -}}
{{- $users := list -}}
{{- range $account, $_ := .profile.accounts -}}
{{- $one := required (printf "endpoints.identity.auth.%s is missing" $account) (get $endpoints.identity.auth $account) -}}
{{- $users = append $users (dict "name" $one.username "password" $one.password "domain" $one.user_domain_name "project" $one.project_name
      "project_domain" $one.project_domain_name "roles" (splitList "," ($one.role | default "service"))) -}}
{{- end -}}
{{- range .profile.domainAccounts -}}
{{- $one := get $endpoints.identity.auth . -}}
{{- $users = append $users (dict "name" $one.username "password" $one.password "domain" $one.domain_name "roles" (splitList "," $one.role)) -}}
{{- end -}}
{{- $services := list -}}
{{- range $type := .profile.catalog -}}
{{- $urls := dict -}}
{{- range list "public" "internal" "admin" -}}
{{- $_ := set $urls . (include "groundup.endpoint.url" (dict "root" $root "type" (replace "-" "_" $type) "endpoint" . "port" "api")) -}}
{{- end -}}
{{- $services = append $services (dict "type" $type "name" (dig (replace "-" "_" $type) "name" $service $endpoints) "endpoints" $urls) -}}
{{- with get ($.profile.official | default dict) $type }}{{ $services = append $services (dict "type" . "name" $service "endpoints" $urls) }}{{ end -}}
{{- end -}}
{{- dict "region" $endpoints.identity.auth.admin.region_name "roles" (.profile.roles | default list) "users" $users "services" $services | toJson -}}
{{- end }}
