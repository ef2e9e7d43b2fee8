package v1alpha1

import (
	"fmt"
	"strings"
	"time"
)

// KubeWorkload is one kind of operation on the Kubernetes API; exactly one.
type KubeWorkload struct {
	// Creates objects under new names.
	Create *Objects `json:"create,omitempty"`
	// Reads single objects that a fill made, chosen at random.
	Get *KubeSelection `json:"get,omitempty"`
	// Replaces single objects that a fill made, chosen at random, by ones of another payload.
	Update *KubeUpdate `json:"update,omitempty"`
	// Patches a label of single objects that a fill made, chosen at random.
	Patch *KubePatch `json:"patch,omitempty"`
	// Deletes objects that a fill made, each once; ends when none is left.
	Delete *KubeSelection `json:"delete,omitempty"`
	// Lists a whole collection, page by page; each page and each whole walk is an operation, and so is the time until a page begins (first-byte).
	List *KubeList `json:"list,omitempty"`
	// Watches a collection: the time to the first event, and for each event the delay since its write was answered.
	Watch *KubeWatch `json:"watch,omitempty"`
	// Creates an object, waits, and deletes it; create, delete and the whole cycle are operations.
	Churn *KubeChurn `json:"churn,omitempty"`
	// Keeps a number of objects per client: each operation deletes the oldest and creates a new one.
	Ring *KubeRing `json:"ring,omitempty"`
	// Makes objects that belong together, as a unit.
	Bundle *KubeBundle `json:"bundle,omitempty"`
	// Deletes the bundles that a phase has made.
	Unbundle *KubeUnbundle `json:"unbundle,omitempty"`
	// Chooses each operation at random among several.
	Mix []KubeMixed `json:"mix,omitempty"`
}

// KubeSelection chooses among the objects that a fill made.
type KubeSelection struct {
	// Resource of the objects.
	Resource Resource `json:"resource"`
	// Namespace of the objects.
	Namespace Name `json:"namespace"`
	// How many objects the fill made.
	Count int `json:"count" jsonschema:"minimum=1"`
}

// KubeUpdate replaces objects.
type KubeUpdate struct {
	KubeSelection `json:",inline"`
	// Bytes of payload in each object, before base64. Default 4B.
	Payload Bytes `json:"payload,omitempty" jsonschema:"default=4B"`
}

// KubePatch patches objects.
type KubePatch struct {
	KubeSelection `json:",inline"`
	// Form of the patch: merge, json, strategic or apply (server-side). Default merge.
	Type string `json:"type,omitempty" jsonschema:"enum=merge,enum=json,enum=strategic,enum=apply,default=merge"`
}

// KubeList lists a collection.
type KubeList struct {
	// Resource of the objects.
	Resource Resource `json:"resource"`
	// Namespace to list; all namespaces when empty.
	Namespace Name `json:"namespace,omitempty"`
	// Most objects in one answer (limit), with continue followed to the end; 0 asks for everything at once.
	PageSize int `json:"pageSize,omitempty" jsonschema:"minimum=0"`
	// How fresh: latest (no resourceVersion: the most recent), any ("0": whatever the cache has), exact (at the version of the first list), not-older (than that version), or watch-list (streamed by a watch). Default latest.
	Read string `json:"read,omitempty" jsonschema:"enum=latest,enum=any,enum=exact,enum=not-older,enum=watch-list,default=latest"`
	// Encoding that is asked for: json or protobuf. Default json.
	Encoding string `json:"encoding,omitempty" jsonschema:"enum=json,enum=protobuf,default=json"`
}

// KubeWatch watches a collection.
type KubeWatch struct {
	// Resource of the objects.
	Resource Resource `json:"resource"`
	// Namespace to watch; all namespaces when empty.
	Namespace Name `json:"namespace,omitempty"`
}

// KubeChurn creates and deletes objects, one at a time per client.
type KubeChurn struct {
	Objects `json:",inline"`
	// How long an object lives between its creation and its deletion.
	Wait Duration `json:"wait,omitempty"`
}

// KubeRing keeps a number of objects per client.
type KubeRing struct {
	Objects `json:",inline"`
	// How many objects each client keeps.
	Keep int `json:"keep" jsonschema:"minimum=1"`
}

// KubeMixed is one kind of operation in a mix.
type KubeMixed struct {
	// How often it is chosen, against the other weights.
	Weight int `json:"weight" jsonschema:"minimum=1"`
	// What it does; anything but a mix, a watch or bundles.
	KubeWorkload `json:",inline"`
}

// Makes gives what the operation makes objects of, and the field that it is;
// nil, if it makes none, or bundles.
func (k *KubeWorkload) Makes() (field string, made *Objects) {
	switch {
	case k.Create != nil:
		return "create", k.Create
	case k.Churn != nil:
		return "churn", &k.Churn.Objects
	case k.Ring != nil:
		return "ring", &k.Ring.Objects
	}
	return "", nil
}

// selects gives which objects of a fill the operation is on, and the field that
// it is, which is the verb too; nil, if it is on no single ones.
func (k *KubeWorkload) selects() (field string, selected *KubeSelection) {
	switch {
	case k.Get != nil:
		return "get", k.Get
	case k.Update != nil:
		return "update", &k.Update.KubeSelection
	case k.Patch != nil:
		return "patch", &k.Patch.KubeSelection
	case k.Delete != nil:
		return "delete", k.Delete
	}
	return "", nil
}

func (k *KubeWorkload) setDefaults(load Load) {
	if _, made := k.Makes(); made != nil {
		made.setDefaults()
	}
	switch {
	case k.Update != nil:
		k.Update.Payload = or(k.Update.Payload, 4)
	case k.Patch != nil:
		k.Patch.Type = or(k.Patch.Type, "merge")
	case k.List != nil:
		k.List.Read = or(k.List.Read, "latest")
		k.List.Encoding = or(k.List.Encoding, "json")
	case k.Bundle != nil:
		k.Bundle.setDefaults()
	case k.Unbundle != nil:
		k.Unbundle.Retry.setDefaults()
	}
	for i := range k.Mix {
		k.Mix[i].KubeWorkload.setDefaults(load)
	}
}

func (k *KubeWorkload) knowNodes(nodes int) {
	if _, made := k.Makes(); made != nil {
		made.Nodes = nodes
	}
	if k.Bundle != nil {
		k.Bundle.Nodes = nodes
	}
	for i := range k.Mix {
		k.Mix[i].KubeWorkload.knowNodes(nodes)
	}
}

func (k *KubeWorkload) check(v *validator, path string, phase *Phase) {
	if !v.target.servesKubernetes() {
		v.fault(path, "the target serves no Kubernetes API")
	}
	v.kube(path, k, phase)
}

func (v *validator) kube(path string, k *KubeWorkload, phase *Phase) {
	if field, made := k.Makes(); made != nil {
		v.objects(path+"."+field, *made)
	}
	if field, selected := k.selects(); selected != nil {
		v.filled(path+"."+field, *selected, phase.Cluster)
	}
	load := phase.Load
	switch {
	case k.Update != nil && !k.Update.Resource.HasPayload():
		v.fault(path+".update.resource", "%s have no payload to update", k.Update.Resource)
	case k.Delete != nil && load.Open != nil:
		if arrivals := load.Open.Operations(); arrivals > float64(k.Delete.Count) {
			v.fault(path+".delete.count", "is %d, but about %.0f deletions would arrive", k.Delete.Count, arrivals)
		}
	case k.Bundle != nil:
		v.bundle(path+".bundle", k.Bundle)
	case k.Unbundle != nil && k.Unbundle.Bundle == nil:
		v.fault(path+".unbundle.of", "no phase of a step before is called %q and makes bundles to stay", k.Unbundle.Of)
	case k.Unbundle != nil && k.Unbundle.Bundle.Delete:
		v.fault(path+".unbundle.of", "phase %s deletes its bundles itself", k.Unbundle.Of)
	case k.Watch != nil:
		v.endless(path+".watch", load)
	}
	for i := range k.Mix {
		if mixed := &k.Mix[i].KubeWorkload; mixed.Mix != nil || mixed.Watch != nil || mixed.Bundle != nil || mixed.Unbundle != nil {
			v.fault(fmt.Sprintf("%s.mix.%d", path, i), "neither a mix nor a watch nor bundles can be part of a mix")
		} else {
			v.kube(fmt.Sprintf("%s.mix.%d", path, i), mixed, phase)
		}
	}
}

// Operations are the kinds of operations that the workload performs: the whole
// ones, and then their parts.
func (k *KubeWorkload) Operations() (whole, parts []string) {
	if verb, selected := k.selects(); selected != nil {
		return []string{verb}, nil
	}
	switch {
	case k.Create != nil:
		return []string{"create"}, nil
	case k.List != nil:
		return []string{"walk"}, []string{"page", "first-byte"}
	case k.Watch != nil:
		return []string{"watch"}, []string{"first-event", "event"}
	case k.Churn != nil:
		return []string{"cycle"}, []string{"create", "delete"}
	case k.Ring != nil:
		return []string{"turn"}, []string{"create", "delete"}
	case k.Bundle != nil:
		return k.Bundle.operations()
	case k.Unbundle != nil:
		if k.Unbundle.Bundle != nil {
			parts = k.Unbundle.Bundle.kinds("delete")
		}
		return []string{"unbundle"}, parts
	}
	for i := range k.Mix {
		w, p := k.Mix[i].KubeWorkload.Operations()
		whole, parts = append(whole, w...), append(parts, p...)
	}
	return whole, parts
}

// InWords says what the workload does.
func (k *KubeWorkload) InWords() string {
	switch {
	case k == nil:
		return "nothing"
	case k.Create != nil:
		return "create " + k.Create.InWords()
	case k.Get != nil:
		return "get " + k.Get.inWords()
	case k.Update != nil:
		return "update " + k.Update.inWords()
	case k.Patch != nil:
		return fmt.Sprintf("patch (%s) %s", k.Patch.Type, k.Patch.inWords())
	case k.Delete != nil:
		return fmt.Sprintf("delete %d %s in namespace %s", k.Delete.Count, k.Delete.Resource, k.Delete.Namespace)
	case k.List != nil:
		return k.List.inWords()
	case k.Watch != nil:
		return "watch " + collectionInWords(k.Watch.Resource, k.Watch.Namespace)
	case k.Churn != nil:
		words := "create and delete " + k.Churn.InWords()
		if k.Churn.Wait > 0 {
			words += fmt.Sprintf(", %v apart", time.Duration(k.Churn.Wait))
		}
		return words
	case k.Bundle != nil:
		return k.Bundle.inWords()
	case k.Unbundle != nil:
		return k.Unbundle.inWords()
	case k.Ring != nil:
		return fmt.Sprintf("keep a ring of %d %s per client", k.Ring.Keep, k.Ring.InWords())
	}
	var kinds []string
	for i := range k.Mix {
		kinds = append(kinds, fmt.Sprintf("%d× %s", k.Mix[i].Weight, k.Mix[i].KubeWorkload.InWords()))
	}
	return "a mix of " + strings.Join(kinds, "; ")
}

func (s KubeSelection) inWords() string {
	return fmt.Sprintf("single %s in namespace %s", s.Resource, s.Namespace)
}

func (l KubeList) inWords() string {
	words := "list all " + collectionInWords(l.Resource, l.Namespace)
	if l.PageSize > 0 {
		words += fmt.Sprintf(" in pages of %d", l.PageSize)
	}
	if l.Read != "latest" {
		words += ", read " + l.Read
	}
	if l.Encoding != "json" {
		words += ", as " + l.Encoding
	}
	return words
}

func (k *KubeWorkload) uses(add func(Resource, ...string)) {
	if verb, selected := k.selects(); selected != nil {
		add(selected.Resource, verb)
	}
	switch {
	case k.Create != nil:
		add(k.Create.resource(), "create")
	case k.List != nil:
		add(k.List.Resource, "list")
		if k.List.Read == "watch-list" {
			add(k.List.Resource, "watch")
		}
	case k.Watch != nil:
		add(k.Watch.Resource, "watch")
	case k.Churn != nil:
		add(k.Churn.resource(), "create", "delete")
	case k.Ring != nil:
		add(k.Ring.resource(), "create", "delete")
	case k.Bundle != nil:
		k.Bundle.uses(add)
	case k.Unbundle != nil && k.Unbundle.Bundle != nil:
		for _, template := range k.Unbundle.Bundle.Templates {
			add(k.Unbundle.Bundle.Objects(template).resource(), "delete")
		}
	}
	for i := range k.Mix {
		k.Mix[i].KubeWorkload.uses(add)
	}
}

func (k *KubeWorkload) namespaces() []*Name {
	var all []*Name
	if _, made := k.Makes(); made != nil {
		all = append(all, &made.Namespace)
	}
	if _, selected := k.selects(); selected != nil {
		all = append(all, &selected.Namespace)
	}
	switch {
	case k.List != nil:
		all = append(all, &k.List.Namespace)
	case k.Watch != nil:
		all = append(all, &k.Watch.Namespace)
	case k.Bundle != nil:
		all = append(all, &k.Bundle.Namespace)
	case k.Unbundle != nil && k.Unbundle.Bundle != nil:
		all = append(all, &k.Unbundle.Bundle.Namespace)
	}
	for i := range k.Mix {
		all = append(all, k.Mix[i].KubeWorkload.namespaces()...)
	}
	return all
}
