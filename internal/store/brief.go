package store

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// klogHead is what klog begins a line with: severity, date, time, thread and place.
var klogHead = regexp.MustCompile(`^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ [^\]\s]*\] ?`)

var severities = map[string]string{"I": "info", "W": "warn", "E": "error", "F": "fatal"}

// toldFields are those fields of structured logs that tell more than where a line comes from.
var toldFields = []string{"took", "time spent", "expected-duration", "error", "err", "reason"}

// Brief is what a line says, in one line of so many letters at the most: without
// when and where, which stand elsewhere or matter to the component's authors
// alone.
func (l LogLine) Brief(letters int) string {
	text := l.Text
	var fields map[string]any
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &fields) == nil {
		text = toldIn(fields, text)
	} else if head := klogHead.FindStringSubmatch(text); head != nil {
		text = severities[head[1]] + ": " + text[len(head[0]):]
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "))
	if len(runes) > letters {
		return string(runes[:letters-1]) + "…"
	}
	return string(runes)
}

func toldIn(fields map[string]any, otherwise string) string {
	text, ok := fields["msg"].(string)
	if !ok {
		return otherwise
	}
	if level, ok := fields["level"].(string); ok {
		text = level + ": " + text
	}
	var told []string
	for _, name := range toldFields {
		if value, ok := fields[name]; ok {
			told = append(told, fmt.Sprintf("%s %v", name, value))
		}
	}
	if told != nil {
		text += " (" + strings.Join(told, ", ") + ")"
	}
	return text
}
