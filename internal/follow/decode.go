package follow

import (
	"bufio"
	"io"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/protoscan"
)

// The numbers of the fields that are looked for, beside those that protoscan
// names, in the generated.proto files of k8s.io/apimachinery and k8s.io/api.
const (
	objectSpec      = 2 // every object
	objectStatus    = 3
	metaGeneration  = 7 // metav1.ObjectMeta
	metaDeletion    = 9
	podPhase        = 1 // v1.PodStatus
	podConditions   = 2
	conditionType   = 1 // v1.PodCondition
	conditionStatus = 2
	specReplicas    = 1 // apps/v1.DeploymentSpec
	statusObserved  = 1 // apps/v1.DeploymentStatus
	statusUpdated   = 3
	statusAvailable = 4
	statusCode      = 6 // metav1.Status
)

// object is what is read of one.
type object struct {
	namespace, name, version string
	terminating              bool
	generation               uint64

	// Of a pod.
	phase string
	ready bool
	// Of a deployment.
	wanted, observed, updated, available uint64
}

// key is its name, after its namespace, if it is in one.
func (o object) key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// state is that of an object of the resource.
func (o object) state(resource v1.Resource) State {
	switch {
	case o.terminating:
		return Terminating
	case resource == pods:
		return o.podState()
	case resource != deployments:
		return Present
	// As kubectl rollout status has it: the controller has seen the latest generation, and all its replicas are available.
	case o.observed >= o.generation && o.updated >= o.wanted && o.available >= o.wanted:
		return Available
	}
	return Progressing
}

func (o object) podState() State {
	switch {
	case o.phase == "Running" && o.ready:
		return Running
	case o.phase == "Running":
		return Unready
	case o.phase == "Succeeded":
		return Succeeded
	case o.phase == "Failed":
		return Failed
	}
	return Pending
}

func newReader(body io.Reader) *protoscan.Reader {
	return protoscan.NewReader(body, bufio.NewReaderSize(nil, bufferSize))
}

// readPage reads a page of a list.
func readPage(resource v1.Resource, body io.Reader) (objects []object, page jsonscan.List, err error) {
	r := newReader(body)
	page, err = r.List(func(end int64) error {
		o, err := readObject(r, resource, end)
		objects = append(objects, o)
		return err
	})
	return objects, page, err
}

// readEvents hands on the events of a watch until it ends. An event of kind ERROR is an error.
func readEvents(resource v1.Resource, body io.Reader, take func(kind string, o object)) error {
	r := newReader(body)
	return r.Events(func(kind string, end int64) (bool, error) {
		if kind == "ERROR" {
			return false, readStatus(r, end)
		}
		o, err := readObject(r, resource, end)
		if err == nil {
			take(kind, o)
		}
		return true, err
	})
}

// readObject reads an object of the resource, which ends at end.
func readObject(r *protoscan.Reader, resource v1.Resource, end int64) (o object, err error) {
	err = r.Message(end, func(f protoscan.Field) error {
		switch {
		case f.Number == protoscan.ObjectMetadata:
			return o.readMetadata(r, f.End)
		case f.Number == objectStatus && resource == pods:
			return o.readPodStatus(r, f.End)
		case f.Number == objectSpec && resource == deployments:
			return r.Message(f.End, func(f protoscan.Field) error {
				if f.Number == specReplicas {
					o.wanted = f.Value
				}
				return nil
			})
		case f.Number == objectStatus && resource == deployments:
			return o.readDeploymentStatus(r, f.End)
		}
		return nil
	})
	return o, err
}

func (o *object) readMetadata(r *protoscan.Reader, end int64) error {
	return r.Message(end, func(f protoscan.Field) (err error) {
		switch f.Number {
		case protoscan.MetaName:
			o.name, err = r.Text(f.End)
		case protoscan.MetaNamespace:
			o.namespace, err = r.Text(f.End)
		case protoscan.MetaVersion:
			o.version, err = r.Text(f.End)
		case metaGeneration:
			o.generation = f.Value
		case metaDeletion:
			o.terminating = true
		}
		return err
	})
}

func (o *object) readPodStatus(r *protoscan.Reader, end int64) error {
	return r.Message(end, func(f protoscan.Field) (err error) {
		switch f.Number {
		case podPhase:
			o.phase, err = r.Text(f.End)
		case podConditions:
			var kind, met string
			err = r.Message(f.End, func(f protoscan.Field) (err error) {
				switch f.Number {
				case conditionType:
					kind, err = r.Text(f.End)
				case conditionStatus:
					met, err = r.Text(f.End)
				}
				return err
			})
			o.ready = o.ready || kind == "Ready" && met == "True"
		}
		return err
	})
}

func (o *object) readDeploymentStatus(r *protoscan.Reader, end int64) error {
	return r.Message(end, func(f protoscan.Field) error {
		switch f.Number {
		case statusObserved:
			o.observed = f.Value
		case statusUpdated:
			o.updated = f.Value
		case statusAvailable:
			o.available = f.Value
		}
		return nil
	})
}

// statusError is a Status that the server sends.
type statusError struct {
	reason string
	code   uint64
}

func (e *statusError) Error() string { return "the watch failed: " + e.reason }

// readStatus reads a Status, which is an error.
func readStatus(r *protoscan.Reader, end int64) error {
	e := &statusError{}
	err := r.Message(end, func(f protoscan.Field) (err error) {
		switch f.Number {
		case protoscan.StatusReason:
			e.reason, err = r.Text(f.End)
		case statusCode:
			e.code = f.Value
		}
		return err
	})
	if err != nil {
		return err
	}
	return e
}
