package kube

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

const (
	// updateAnnotation bears another value after every update, so that none is a no-op, which the
	// API server would answer without a write.
	updateAnnotation = "plimsoll.dev/update"
	// patchLabel does so for patches.
	patchLabel = "plimsoll.dev/patch"
	// payloads is how many different payloads a client has.
	payloads = 4
)

// updater replaces objects, whatever their version.
type updater struct {
	client
	path     string
	count    int
	mark     string // unique to the client
	random   *rand.Rand
	done     int
	head     string   // before the name
	label    string   // between the name and the annotation's value
	contents []string // after that
}

func newUpdater(c client, u v1.KubeUpdate, runID, mark string, random *rand.Rand) *updater {
	info, _ := u.Resource.Info()
	run, _ := json.Marshal(runID) // of a string it cannot fail
	all := &updater{
		client: c, path: collection(u.Resource, u.Namespace), count: u.Count, mark: mark, random: random,
		head:  fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"`, info.APIVersion, info.Kind),
		label: fmt.Sprintf(`","labels":{%q:%s},"annotations":{%q:"`, object.RunLabel, run, updateAnnotation),
	}
	for i := range payloads {
		data := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte('b' + i)}, int(u.Payload)))
		all.contents = append(all.contents, `"}},"data":{"data":"`+data+`"}}`)
	}
	return all
}

func (c *updater) Next() (workload.Op, bool) {
	c.done++
	name, content := object.Name(c.random.IntN(c.count)), c.contents[c.done%payloads]
	value := c.mark + strconv.Itoa(c.done)
	path := c.path + "/" + name
	return workload.Op{Kind: "update", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		body, length := concat(c.head, name, c.label, value, content)
		return c.write(ctx, httpconn.Request{Method: http.MethodPut, Path: path, Body: body, Length: length}, path)
	}}, true
}

// concat gives texts as one body, without copying them.
func concat(texts ...string) (io.Reader, int64) {
	var readers []io.Reader
	var length int64
	for _, text := range texts {
		readers = append(readers, strings.NewReader(text))
		length += int64(len(text))
	}
	return io.MultiReader(readers...), length
}
