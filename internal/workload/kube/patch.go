package kube

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// patcher sets a label of objects to another value each time.
type patcher struct {
	client
	path   string
	count  int
	mark   string // of the run and the client, and short enough for a label
	random *rand.Rand
	done   int
	form   patchForm
}

// patchForm is one of the forms that patches have.
type patchForm struct {
	contentType string
	query       string
	body        string // with verbs for the name, where the form holds it, and the value
}

func newPatcher(c client, p v1.KubePatch, runID, mark string, random *rand.Rand) *patcher {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(runID + "/" + mark))
	return &patcher{
		client: c, path: collection(p.Resource, p.Namespace), count: p.Count,
		mark: fmt.Sprintf("%08x", sum.Sum32()), random: random, form: formOf(p),
	}
}

// formOf gives a patch's media type and its body. A JSON patch finds labels
// there, since what a fill made has the run's.
func formOf(p v1.KubePatch) patchForm {
	const label = `"labels":{"` + patchLabel + `":"%[2]s"}`
	switch p.Type {
	case "json":
		path := "/metadata/labels/" + strings.ReplaceAll(patchLabel, "/", "~1")
		return patchForm{"application/json-patch+json", "", `[{"op":"add","path":"` + path + `","value":"%[2]s"}]`}
	case "strategic":
		return patchForm{"application/strategic-merge-patch+json", "", `{"metadata":{` + label + `}}`}
	case "apply":
		info, _ := p.Resource.Info()
		return patchForm{"application/apply-patch+yaml", "?fieldManager=plimsoll&force=true",
			`{"apiVersion":"` + info.APIVersion + `","kind":"` + info.Kind + `","metadata":{"name":"%[1]s",` + label + `}}`}
	}
	return patchForm{"application/merge-patch+json", "", `{"metadata":{` + label + `}}`}
}

func (c *patcher) Next() (workload.Op, bool) {
	c.done++
	name := object.Name(c.random.IntN(c.count))
	path := c.path + "/" + name
	body := fmt.Sprintf(c.form.body, name, fmt.Sprintf("%s-%d", c.mark, c.done))
	return workload.Op{Kind: "patch", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.write(ctx, httpconn.Request{
			Method: http.MethodPatch, Path: path + c.form.query, ContentType: c.form.contentType,
			Body: strings.NewReader(body), Length: int64(len(body)),
		}, path)
	}}, true
}
