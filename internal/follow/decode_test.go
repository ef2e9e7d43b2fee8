package follow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/jsonscan"
)

// encode gives an object as an API server does.
func encode(t *testing.T, o runtime.Object) []byte {
	t.Helper()
	data, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// event gives an event of a watch as an API server does, without its length.
func event(t *testing.T, kind string, o runtime.Object) []byte {
	t.Helper()
	data, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: encode(t, o)}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func framed(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "space", Name: name, ResourceVersion: "42", Labels: map[string]string{"name": "label"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}},
	}
}

func pod(name string, phase core.PodPhase, ready core.ConditionStatus) *core.Pod {
	return &core.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta(name),
		Spec: core.PodSpec{Containers: []core.Container{{Name: "Running"}}},
		Status: core.PodStatus{Phase: phase, Conditions: []core.PodCondition{
			{Type: core.PodScheduled, Status: core.ConditionTrue}, {Type: core.PodReady, Status: ready},
		}},
	}
}

func deployment(generation, observed int64, wanted, updated, available int32) *apps.Deployment {
	d := &apps.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta("one")}
	d.Generation, d.Spec.Replicas = generation, &wanted
	d.Status = apps.DeploymentStatus{ObservedGeneration: observed, Replicas: updated, UpdatedReplicas: updated, AvailableReplicas: available}
	return d
}

func terminating(o *core.Pod) *core.Pod {
	o.DeletionTimestamp = &metav1.Time{}
	return o
}

func configMap() *core.ConfigMap {
	return &core.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta("one"), Data: map[string]string{"data": "Running"},
	}
}

// readEvent reads one event without its length.
func readEvent(resource v1.Resource, frame []byte) (kind string, o object, err error) {
	err = readEvents(resource, bytes.NewReader(framed(frame)), func(k string, found object) { kind, o = k, found })
	return kind, o, err
}

func TestStateIsReadFromAnEvent(t *testing.T) {
	for _, row := range []struct {
		name     string
		resource v1.Resource
		object   runtime.Object
		state    State
	}{
		{"a pod that waits", pods, pod("one", core.PodPending, core.ConditionFalse), Pending},
		{"a pod that the scheduler has not seen", pods, &core.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta("one")}, Pending},
		{"a pod that runs, but is not ready", pods, pod("one", core.PodRunning, core.ConditionFalse), Unready},
		{"a pod that runs", pods, pod("one", core.PodRunning, core.ConditionTrue), Running},
		{"a pod that has failed", pods, pod("one", core.PodFailed, core.ConditionFalse), Failed},
		{"a pod that has succeeded", pods, pod("one", core.PodSucceeded, core.ConditionFalse), Succeeded},
		{"a pod that runs and goes", pods, terminating(pod("one", core.PodRunning, core.ConditionTrue)), Terminating},
		{"a deployment that nobody has seen", deployments, deployment(1, 0, 1, 0, 0), Progressing},
		{"a deployment with a pod that does not run", deployments, deployment(1, 1, 1, 1, 0), Progressing},
		{"a deployment with all its pods", deployments, deployment(1, 1, 3, 3, 3), Available},
		{"a deployment whose available pods are old ones", deployments, deployment(2, 2, 3, 1, 3), Progressing},
		{"a deployment that was changed since", deployments, deployment(2, 1, 3, 3, 3), Progressing},
		{"a deployment of no pods", deployments, deployment(1, 1, 0, 0, 0), Available},
		{"a configmap", v1.ConfigMaps, configMap(), Present},
	} {
		t.Run(row.name, func(t *testing.T) {
			kind, o, err := readEvent(row.resource, event(t, "MODIFIED", row.object))
			if err != nil || kind != "MODIFIED" || o.key() != "space/one" || o.version != "42" || o.state(row.resource) != row.state {
				t.Errorf("%s %s at %s is %s, %v; want %s", kind, o.key(), o.version, o.state(row.resource), err, row.state)
			}
		})
	}
}

func TestErrorEventIsAnError(t *testing.T) {
	_, _, err := readEvent(pods, event(t, "ERROR", &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonExpired, Code: 410,
	}))
	status, ok := err.(*statusError)
	if !ok || status.code != 410 || status.reason != "Expired" {
		t.Errorf("%v", err)
	}
}

func TestPageOfAList(t *testing.T) {
	objects, page, err := readPage(pods, bytes.NewReader(encode(t, &core.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"},
		Items: []core.Pod{*pod("one", core.PodRunning, core.ConditionTrue), *pod("two", core.PodPending, core.ConditionFalse)},
	})))
	if want := (jsonscan.List{Items: 2, Version: "7", Token: "more"}); err != nil || page != want ||
		objects[0].key() != "space/one" || objects[0].state(pods) != Running || objects[1].state(pods) != Pending {
		t.Errorf("%+v, %+v, %v", page, objects, err)
	}
}

func TestTornProtobufIsAnError(t *testing.T) {
	whole := event(t, "ADDED", pod("one", core.PodRunning, core.ConditionTrue))
	for n := range len(whole) {
		if _, o, err := readEvent(pods, whole[:n]); err == nil || errors.Is(err, io.EOF) {
			t.Fatalf("the first %d bytes of %d give %+v, %v", n, len(whole), o, err)
		}
	}
	if _, _, err := readEvent(pods, []byte(`{"type":"ADDED"}`)); err == nil {
		t.Error("JSON is taken for protobuf")
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add([]byte("\x0a\x05ADDED\x12\x04\x0a\x02k8"))
	f.Fuzz(func(_ *testing.T, frame []byte) {
		_, _, _ = readEvent(pods, frame) // whatever it is, it ends
		_, _, _ = readPage(deployments, bytes.NewReader(frame))
	})
}
