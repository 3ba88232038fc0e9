{{/* Nothing is left of a test that went well; of one that failed, until the next. */}}
{{- define "trainop.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* Not those that the Deployment, the Service and the budget select by. */}}
{{- define "trainop.testLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 58 | trimSuffix "-" }}-test
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The smallest job there is: one member with the operator's own image, which says its version and ends. */}}
{{- define "trainop.testJob" -}}
apiVersion: kubeflow.org/v1
kind: {{ .job.kind }}
metadata:
  name: {{ .name }}
  namespace: {{ .namespace | quote }}
spec:
  {{- if eq .job.kind "MXJob" }}
  jobMode: MXTrain
  {{- end }}
  runPolicy: { cleanPodPolicy: All, backoffLimit: 2, activeDeadlineSeconds: 240 }
  {{ .job.field }}:
    {{ .job.role }}:
      replicas: 1
      restartPolicy: OnFailure
      template:
        metadata:
          annotations: { sidecar.istio.io/inject: "false" }
        spec:
          {{- with .context.Values.image.pullSecrets }}
          imagePullSecrets: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .context.Values.nodeSelector }}
          nodeSelector: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .context.Values.tolerations }}
          tolerations: {{- toYaml . | nindent 12 }}
          {{- end }}
          automountServiceAccountToken: false
          securityContext: {{- include "trainop.podSecurity" .context | nindent 12 }}
          containers:
            - name: {{ .job.container }}
              image: {{ include "trainop.image" .context | quote }}
              imagePullPolicy: {{ .context.Values.image.pullPolicy }}
              command: [trainop, version]
              securityContext: {{- include "trainop.containerSecurity" .context | nindent 16 }}
              resources: { requests: { cpu: 50m, memory: 64Mi }, limits: { memory: 256Mi } }
{{- end -}}
