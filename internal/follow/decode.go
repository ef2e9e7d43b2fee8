package follow

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

// The numbers of the fields that are looked for, in the generated.proto files of
// k8s.io/apimachinery and k8s.io/api.
const (
	unknownRaw      = 2 // runtime.Unknown
	listMetadata    = 1 // every list
	listItems       = 2
	listVersion     = 2 // metav1.ListMeta
	listContinue    = 3
	eventKind       = 1 // metav1.WatchEvent
	eventObject     = 2
	extensionRaw    = 1 // runtime.RawExtension
	objectMetadata  = 1 // every object
	objectSpec      = 2
	objectStatus    = 3
	metaName        = 1 // metav1.ObjectMeta
	metaNamespace   = 3
	metaVersion     = 6
	metaGeneration  = 7
	metaDeletion    = 9
	podPhase        = 1 // v1.PodStatus
	podConditions   = 2
	conditionType   = 1 // v1.PodCondition
	conditionStatus = 2
	specReplicas    = 1 // apps/v1.DeploymentSpec
	statusObserved  = 1 // apps/v1.DeploymentStatus
	statusUpdated   = 3
	statusAvailable = 4
	statusReason    = 4 // metav1.Status
	statusCode      = 6
)

// magic begins every object in protobuf; behind it is a runtime.Unknown.
const magic = "k8s\x00"

// errWire is an answer that is not whole protobuf.
var errWire = errors.New("the answer is not whole protobuf")

// each calls take with every field of a message: with its bytes, if it has a
// length, or else with its number.
func each(message []byte, take func(field protowire.Number, value []byte, number uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errWire
		}
		message = message[n:]
		var value []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return errWire
		}
		message = message[n:]
		if err := take(field, value, number); err != nil {
			return err
		}
	}
	return nil
}

// inside gives the object in an envelope.
func inside(envelope []byte) (object []byte, err error) {
	if len(envelope) < len(magic) || string(envelope[:len(magic)]) != magic {
		return nil, errWire
	}
	err = each(envelope[len(magic):], func(field protowire.Number, value []byte, _ uint64) error {
		if field == unknownRaw {
			object = value
		}
		return nil
	})
	return object, err
}

// object is what is read of one.
type object struct {
	namespace, name, version string
	state                    State
	generation               uint64
	terminating              bool
}

// key is its name, after its namespace, if it is in one.
func (o object) key() string {
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

func readObject(resource v1.Resource, message []byte) (o object, err error) {
	var spec, status []byte
	err = each(message, func(field protowire.Number, value []byte, _ uint64) error {
		switch field {
		case objectMetadata:
			return o.readMetadata(value)
		case objectSpec:
			spec = value
		case objectStatus:
			status = value
		}
		return nil
	})
	if err != nil {
		return o, err
	}
	switch {
	case o.terminating:
		o.state = Terminating
	case resource == pods:
		o.state, err = podState(status)
	case resource == deployments:
		o.state, err = deploymentState(o.generation, spec, status)
	default:
		o.state = Present
	}
	return o, err
}

func (o *object) readMetadata(message []byte) error {
	return each(message, func(field protowire.Number, value []byte, number uint64) error {
		switch field {
		case metaName:
			o.name = string(value)
		case metaNamespace:
			o.namespace = string(value)
		case metaVersion:
			o.version = string(value)
		case metaGeneration:
			o.generation = number
		case metaDeletion:
			o.terminating = true
		}
		return nil
	})
}

func podState(status []byte) (State, error) {
	phase, ready := "", false
	err := each(status, func(field protowire.Number, value []byte, _ uint64) error {
		switch field {
		case podPhase:
			phase = string(value)
		case podConditions:
			var kind, met string
			err := each(value, func(field protowire.Number, value []byte, _ uint64) error {
				switch field {
				case conditionType:
					kind = string(value)
				case conditionStatus:
					met = string(value)
				}
				return nil
			})
			ready = ready || kind == "Ready" && met == "True"
			return err
		}
		return nil
	})
	switch {
	case phase == "Running" && ready:
		return Running, err
	case phase == "Running":
		return Unready, err
	case phase == "Succeeded":
		return Succeeded, err
	case phase == "Failed":
		return Failed, err
	}
	return Pending, err
}

// deploymentState says, as kubectl rollout status does, whether the controller
// has seen the latest generation and all its replicas are available.
func deploymentState(generation uint64, spec, status []byte) (State, error) {
	var wanted, observed, updated, available uint64
	err := errors.Join(
		each(spec, func(field protowire.Number, _ []byte, number uint64) error {
			if field == specReplicas {
				wanted = number
			}
			return nil
		}),
		each(status, func(field protowire.Number, _ []byte, number uint64) error {
			switch field {
			case statusObserved:
				observed = number
			case statusUpdated:
				updated = number
			case statusAvailable:
				available = number
			}
			return nil
		}))
	if observed >= generation && updated >= wanted && available >= wanted {
		return Available, err
	}
	return Progressing, err
}

// page is a part of a list.
type page struct {
	objects []object
	version string
	token   string // of the next page
}

func readPage(resource v1.Resource, envelope []byte) (p page, err error) {
	list, err := inside(envelope)
	if err != nil {
		return p, err
	}
	err = each(list, func(field protowire.Number, value []byte, _ uint64) error {
		switch field {
		case listMetadata:
			return each(value, func(field protowire.Number, value []byte, _ uint64) error {
				switch field {
				case listVersion:
					p.version = string(value)
				case listContinue:
					p.token = string(value)
				}
				return nil
			})
		case listItems:
			o, err := readObject(resource, value)
			p.objects = append(p.objects, o)
			return err
		}
		return nil
	})
	return p, err
}

// readEvent reads an event of a watch; an event of kind ERROR is an error.
func readEvent(resource v1.Resource, frame []byte) (kind string, o object, err error) {
	var envelope []byte
	err = each(frame, func(field protowire.Number, value []byte, _ uint64) error {
		switch field {
		case eventKind:
			kind = string(value)
		case eventObject:
			return each(value, func(field protowire.Number, value []byte, _ uint64) error {
				if field == extensionRaw {
					envelope = value
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return kind, o, err
	}
	message, err := inside(envelope)
	if err != nil {
		return kind, o, err
	}
	if kind == "ERROR" {
		return kind, o, readStatus(message)
	}
	o, err = readObject(resource, message)
	return kind, o, err
}

// statusError is a Status that the server sends.
type statusError struct {
	reason string
	code   uint64
}

func (e *statusError) Error() string { return "the watch failed: " + e.reason }

func readStatus(message []byte) error {
	e := &statusError{}
	if err := each(message, func(field protowire.Number, value []byte, number uint64) error {
		switch field {
		case statusReason:
			e.reason = string(value)
		case statusCode:
			e.code = number
		}
		return nil
	}); err != nil {
		return err
	}
	return e
}
