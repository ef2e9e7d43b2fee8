package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	goccy "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
	"sigs.k8s.io/yaml"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

// sourceName stands in the messages of text/template, from which it is cut again.
const sourceName = "object"

// fields are what a template knows.
type fields struct {
	Index                          int
	Name, Namespace, Payload, Node string
}

func parseTemplate(text string) (*template.Template, error) {
	t, err := template.New(sourceName).Funcs(template.FuncMap{"div": div, "mod": mod}).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	return t, nil
}

// div and mod spread objects over others, such as Pods over Nodes.
func div(a, b int) (int, error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	return a / b, nil
}

func mod(a, b int) (int, error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	return a % b, nil
}

// templateError puts the line of the template first.
func templateError(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: "+sourceName+":")
	line, _, ok := strings.Cut(text, ":")
	if _, number := strconv.Atoi(line); !ok || number != nil {
		return fmt.Errorf("template: %w", err)
	}
	return fmt.Errorf("template line %s", text)
}

// render executes the template and reads what it gives.
func (t *Template) render(i int, name, namespace string) (map[string]any, error) {
	var text bytes.Buffer
	if err := t.source.Execute(&text, fields{i, name, namespace, t.payload, t.node(i)}); err != nil {
		return nil, fmt.Errorf("%w (a template knows .Index, .Name, .Namespace, .Payload and .Node)", templateError(err))
	}
	if line := secondDocument(text.String()); line > 0 {
		return nil, yamlError(text.String(), line, "a second document begins here; a template makes one object")
	}
	converted, err := yaml.YAMLToJSONStrict(text.Bytes())
	if err != nil {
		line, message := whereInYAML(text.Bytes(), err)
		return nil, yamlError(text.String(), line, message)
	}
	decoder := json.NewDecoder(bytes.NewReader(converted))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("the rendered text is not an object: %w", err)
	}
	mapping, ok := content.(map[string]any)
	if !ok {
		return nil, yamlError(text.String(), 1, "this is not an object, which has apiVersion, kind and metadata")
	}
	return mapping, nil
}

// secondDocument gives the line at which a second document begins, or 0.
func secondDocument(text string) int {
	begun := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		switch {
		case line == "---" || strings.HasPrefix(line, "--- "):
			if begun {
				return i + 1
			}
			begun = line != "---"
		case line != "" && !strings.HasPrefix(line, "#"):
			begun = true
		}
	}
	return 0
}

// yamlError names a line of a rendered text, and shows it.
func yamlError(text string, line int, message string) error {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return fmt.Errorf("the rendered text is not YAML: %s", message)
	}
	const shown = 200
	shownLine := lines[line-1]
	if len(shownLine) > shown {
		shownLine = strings.ToValidUTF8(shownLine[:shown], "") + "…"
	}
	return fmt.Errorf("the rendered text is not right at line %d: %s\n  %d | %s", line, message, line, shownLine)
}

// whereInYAML finds the line of an error: the parser that Kubernetes uses is at
// times one line off, so a second one is asked, whose lines can be trusted.
func whereInYAML(text []byte, err error) (line int, message string) {
	message = err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:"} {
		message = strings.TrimSpace(strings.TrimPrefix(message, prefix))
	}
	if found := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(message); found != nil {
		line, _ = strconv.Atoi(found[1])
		message = message[len(found[0]):]
	}
	var second goccy.Error
	if _, err := parser.ParseBytes(text, 0); errors.As(err, &second) && second.GetToken() != nil {
		return second.GetToken().Position.Line, second.GetMessage()
	}
	return line, message
}

// kindOf finds the resource that an object is of.
func kindOf(content map[string]any) (v1.ResourceInfo, error) {
	version, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	if version == "" || kind == "" {
		return v1.ResourceInfo{}, errors.New("it needs apiVersion and kind, both texts")
	}
	all := v1.Resources()
	at := slices.IndexFunc(all, func(info v1.ResourceInfo) bool { return info.APIVersion == version && info.Kind == kind })
	if at >= 0 {
		return all[at], nil
	}
	var known, names []string
	for _, info := range all {
		if info.Kind == kind {
			return v1.ResourceInfo{}, fmt.Errorf("apiVersion of a %s is %s, not %q", kind, info.APIVersion, version)
		}
		names = append(names, info.Kind)
		known = append(known, fmt.Sprintf("%s (%s)", info.Kind, info.APIVersion))
	}
	return v1.ResourceInfo{}, fmt.Errorf("kind %q of apiVersion %q is not built in%s\nbuilt in are %s",
		kind, version, v1.NearMiss(kind, names), strings.Join(known, ", "))
}
