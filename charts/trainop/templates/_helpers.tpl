{{/* The name of everything in this release: 49 letters at most, since names of pods of its `helm test` may have 63. */}}
{{- define "trainop.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 49 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- /* A release may have dots in its name, a Service may not. */ -}}
{{- contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) | replace "." "-" | trunc 49 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "trainop.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "trainop.labels" -}}
{{ include "trainop.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: trainop
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "trainop.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "trainop.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "trainop.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The key of a ConfigMap tf-job-operator-config that somebody has made before the release, as in 2017; or nothing. */}}
{{- define "trainop.configBefore" -}}
{{- $found := lookup "v1" "ConfigMap" .Release.Namespace "tf-job-operator-config" -}}
{{- if and $found $found.data (ne (dig "metadata" "labels" "app.kubernetes.io/managed-by" "" $found) "Helm") -}}
{{- $file := base .Values.config.file -}}
{{- hasKey $found.data $file | ternary $file (keys $found.data | sortAlpha | first) -}}
{{- end -}}
{{- end -}}

{{/* The ConfigMap with the controller config: the user's, or that of a cloud, or one that was there before, or none. */}}
{{- define "trainop.config" -}}
{{- $named := or .Values.cloud (include "trainop.configBefore" .) -}}
{{- .Values.config.configmap | default (ternary "tf-job-operator-config" "" (not (empty $named))) -}}
{{- end -}}

{{- define "trainop.configFile" -}}
{{- if .Values.config.configmap -}}
{{- .Values.config.file -}}
{{- else if .Values.cloud -}}
/etc/config/controller_config_file.yaml
{{- else -}}
/etc/config/{{ include "trainop.configBefore" . }}
{{- end -}}
{{- end -}}

{{/* The documents of extraCrds, as a YAML list. */}}
{{- define "trainop.extraCrds" -}}
{{- $crds := list -}}
{{- range regexSplit "(?m)^---$" (.Values.extraCrds | default "") -1 -}}
{{- with fromYaml . -}}
{{- if ne (toString .kind) "CustomResourceDefinition" -}}
{{- fail "extraCrds: it must be what `trainop crds --framework NAME` prints: --set-file extraCrds=FILE" -}}
{{- end -}}
{{- $crds = append $crds . -}}
{{- end -}}
{{- end -}}
{{- toYaml $crds -}}
{{- end -}}

{{/* What the operator serves, as a YAML list of {group, kind, resource}, and legacy: true for the kinds of 2017. */}}
{{- define "trainop.jobs" -}}
{{- $enabled := list -}}
{{- range .Values.enabledKinds }}{{ $enabled = append $enabled (lower .) }}{{ end -}}
{{- $jobs := list -}}
{{- range $kind := list "TFJob" "MXJob" "PyTorchJob" "XGBoostJob" -}}
{{- if or (empty $enabled) (has (lower $kind) $enabled) (has (printf "%s.kubeflow.org" (lower $kind)) $enabled) -}}
{{- $jobs = append $jobs (dict "group" "kubeflow.org" "kind" $kind "resource" (printf "%ss" (lower $kind))) -}}
{{- end -}}
{{- end -}}
{{- range $name := .Values.legacyKinds | ternary (list "TfJob.tensorflow.org" "TfJob.mlkube.io" "MxJob.mlkube.io" "MxJob.mxnet.mlkube.io") list -}}
{{- $kind := splitn "." 2 $name -}}
{{- if or (empty $enabled) (has (lower $kind._0) $enabled) (has (lower $name) $enabled) -}}
{{- $jobs = append $jobs (dict "group" $kind._1 "kind" $kind._0 "resource" (printf "%ss" (lower $kind._0)) "legacy" true) -}}
{{- end -}}
{{- end -}}
{{- $extra := .Values.extraJobs | default list -}}
{{- range include "trainop.extraCrds" . | fromYamlArray -}}
{{- $extra = append $extra (dict "group" .spec.group "kind" .spec.names.kind "resource" .spec.names.plural) -}}
{{- end -}}
{{- range $extra | uniq -}}
{{- if or (empty $enabled) (has (lower .kind) $enabled) (has (printf "%s.%s" (lower .kind) .group) $enabled) }}{{ $jobs = append $jobs . }}{{ end -}}
{{- end -}}
{{- toYaml $jobs -}}
{{- end -}}

{{/* What `helm test` submits: a job of the first of our kinds that is served, as its kind, resource and field of roles, and
the role and the container that decide. Nothing: none of them is served. */}}
{{- define "trainop.tested" -}}
{{- $known := dict "TFJob" "tfReplicaSpecs Worker tensorflow" "MXJob" "mxReplicaSpecs Worker mxnet" "PyTorchJob" "pytorchReplicaSpecs Master pytorch" "XGBoostJob" "xgbReplicaSpecs Master xgboost" -}}
{{- $found := dict -}}
{{- range include "trainop.jobs" . | fromYamlArray -}}
{{- if and (empty $found) (eq .group "kubeflow.org") (hasKey $known .kind) -}}
{{- $words := get $known .kind | splitList " " -}}
{{- $found = dict "kind" .kind "resource" .resource "field" (index $words 0) "role" (index $words 1) "container" (index $words 2) -}}
{{- end -}}
{{- end -}}
{{- with $found }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* One rule per API group of the served kinds: (dict "context" $ "subresource" "/status" "verbs" (list "patch")).
With "legacy" true only of the kinds of 2017, with false only of the others. */}}
{{- define "trainop.jobRules" -}}
{{- $resources := dict -}}
{{- range include "trainop.jobs" .context | fromYamlArray -}}
{{- if or (not (hasKey $ "legacy")) (eq $.legacy (.legacy | default false)) -}}
{{- $name := printf "%s%s" .resource $.subresource -}}
{{- $_ := set $resources .group (append (get $resources .group | default list) $name) -}}
{{- end -}}
{{- end -}}
{{- range $group := keys $resources | sortAlpha }}
- apiGroups: [{{ $group }}]
  resources: [{{ get $resources $group | join ", " }}]
  verbs: [{{ $.verbs | join ", " }}]
{{- end -}}
{{- end -}}

{{/* Whether to make an object whose API may not be there: (dict "context" $ "wanted" "auto" "api" "GROUP/VERSION/KIND"). */}}
{{- define "trainop.wanted" -}}
{{- if or (eq (toString .wanted) "true") (and (eq (toString .wanted) "auto") (.context.Capabilities.APIVersions.Has .api)) -}}
yes
{{- end -}}
{{- end -}}

{{/* The scheduler that places the pods of a job together, if there is one. */}}
{{- define "trainop.gangScheduler" -}}
{{- $name := .Values.gangSchedulerName | default "" -}}
{{- eq $name "none" | ternary "" $name -}}
{{- end -}}

{{/* What no container of ours needs, it does not have: Pod Security "restricted". */}}
{{- define "trainop.podSecurity" -}}
runAsNonRoot: true
{{- if ne (toString .Values.runAsUser) "auto" }}
runAsUser: {{ int64 .Values.runAsUser }}
runAsGroup: {{ int64 .Values.runAsUser }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "trainop.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Apart from each other: on different nodes, and in different zones where there are some. */}}
{{- define "trainop.placement" -}}
{{- if .Values.affinity -}}
affinity: {{- toYaml .Values.affinity | nindent 2 }}
{{- else if ne .Values.antiAffinity "none" -}}
affinity:
  podAntiAffinity:
    {{- if eq .Values.antiAffinity "hard" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        # Only pods of the same revision keep apart: a rollout needs no node more than before.
        matchLabelKeys: [pod-template-hash]
        labelSelector:
          matchLabels: {{- include "trainop.selectorLabels" . | nindent 12 }}
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "trainop.selectorLabels" . | nindent 14 }}
    {{- end }}
{{- end }}
topologySpreadConstraints:
{{- if .Values.topologySpreadConstraints }}
{{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
{{- else }}
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "trainop.selectorLabels" . | nindent 8 }}
{{- end }}
{{- end -}}

{{/* Values that a schema cannot compare with each other. */}}
{{- define "trainop.check" -}}
{{- with .Values.leaderElection -}}
{{- if and (not .enabled) (gt (int $.Values.replicas) 1) -}}
{{- fail (printf "replicas: %d operators without leaderElection.enabled would do everything twice: set replicas=1 or enable it" (int $.Values.replicas)) -}}
{{- end -}}
{{- if not (and (gt (int .leaseDurationSeconds) (int .renewDeadlineSeconds)) (gt (int .renewDeadlineSeconds) (int .retryPeriodSeconds))) -}}
{{- fail "leaderElection: leaseDurationSeconds must be greater than renewDeadlineSeconds, and that greater than retryPeriodSeconds" -}}
{{- end -}}
{{- end -}}
{{- with .Values.podDisruptionBudget -}}
{{- $least := .minAvailable -}}
{{- if kindIs "string" $least -}}
{{- $least = divf (mul (trimSuffix "%" $least | int) $.Values.replicas) 100 | ceil -}}
{{- end -}}
{{- if and .enabled (gt (int $.Values.replicas) 1) (ge (int $least) (int $.Values.replicas)) -}}
{{- fail (printf "podDisruptionBudget.minAvailable: %d of %d replicas can never go, and no node with one be drained: set it lower" (int $least) (int $.Values.replicas)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.rbac.install (not .Values.serviceAccount.create) (empty .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.name: without serviceAccount.create it must be given; the account \"default\", and with it every pod of the namespace, would get the operator's rights" -}}
{{- end -}}
{{- $served := list -}}
{{- range include "trainop.jobs" . | fromYamlArray -}}
{{- $served = concat $served (list (lower .kind) (printf "%s.%s" (lower .kind) .group)) -}}
{{- end -}}
{{- range .Values.enabledKinds -}}
{{- if not (has (lower .) $served) -}}
{{- fail (printf "enabledKinds: %s is neither TFJob, MXJob, PyTorchJob nor XGBoostJob, nor one of 2017 with legacyKinds, nor in extraJobs or extraCrds" .) -}}
{{- end -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]" (include "trainop.fullname" .)) -}}
{{- fail (printf "fullnameOverride: %s cannot be the name of a Service, which begins with a letter: set one that does" (include "trainop.fullname" .)) -}}
{{- end -}}
{{- end -}}
