{{- define "tablog.selector" -}}
app.kubernetes.io/name: tablog
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tablog.labels" -}}
{{ include "tablog.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "tablog.secret" -}}
{{ .Values.existingSecret | default (printf "%s-tablog" .Release.Name) }}
{{- end }}
{{- define "tablog.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ printf "%s@%s" .repository .digest | quote }}{{ else }}{{ printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) | quote }}{{ end }}
{{- end }}
{{- end }}
