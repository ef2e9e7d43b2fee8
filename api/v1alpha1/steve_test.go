package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/plan"
)

func TestFaultsOfSteveWorkloads(t *testing.T) {
	const bounded, lasting = "{closed: {clients: 1, iterations: 1}}", "{closed: {clients: 1, duration: 1s}}"
	for _, row := range []struct{ load, steve, want string }{
		{bounded, "{list: {resource: configmaps, verify: true}}", ""},
		{bounded, "{list: {resource: configmaps, namespace: filled, verify: true}}", ""},
		{bounded, "{list: {resource: configmaps, namespace: spread-2, verify: true}}", ""},
		{bounded, "{list: {resource: configmaps, namespace: spread, verify: true}}", "checks for the configmaps in namespace spread of a fill, but none makes any"},
		{bounded, "{list: {resource: secrets, verify: true}}", "checks for the secrets of a fill, but none makes any"},
		{bounded, "{list: {resource: configmaps, pagination: none, verify: true}}", "needs walks over the whole list"},
		{bounded, "{list: {resource: configmaps, filter: a=b, verify: true}}", "cannot tell which objects"},
		{bounded, "{get: {resource: configmaps, namespace: filled, count: 11}}", "is 11, but only 10 configmaps in namespace filled are made"},
		{bounded, "{counts: {}}", ""},
		{lasting, "{watch: {resource: configmaps}}", ""},
		{bounded, "{watch: {resource: configmaps}}", "a watch goes on until its phase ends"},
	} {
		document := fmt.Sprintf(`apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: one}
spec:
  target: {local: {steve: {}}}
  prepare:
  - fill: {resource: configmaps, namespace: filled, count: 10}
  - fill: {resource: configmaps, namespace: spread, namespaces: 3, count: 10}
  steps:
  - name: only
    phases:
    - name: phase
      load: %s
      steve: %s
`, row.load, row.steve)
		_, err := plan.Load("one.yaml", []byte(document), nil)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v; want %q", row.steve, err, row.want)
		}
	}
}
