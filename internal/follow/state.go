package follow

import v1 "plimsoll.dev/plimsoll/api/v1alpha1"

// State is what an object is in. Every object that there is, is in exactly one,
// so the numbers of objects by state add up to the number of objects.
type State uint8

// The states.
const (
	// Gone is an object that is not there.
	Gone State = iota
	// Present is an object of a resource whose state nobody asks for.
	Present
	// Terminating is an object of any resource whose deletion has begun.
	Terminating
	// Pending, Running, Succeeded and Failed are those of pods; Running is ready as well, Unready is not.
	Pending
	Unready
	Running
	Succeeded
	Failed
	// Progressing and Available are those of deployments: whether all replicas of the latest generation are available.
	Progressing
	Available
	states
)

func (s State) String() string {
	return [states]string{
		"gone", "present", "terminating", "pending", "unready", "running", "succeeded", "failed", "progressing", "available",
	}[s]
}

// StatesOf lists the states that objects of a resource can be in.
func StatesOf(resource v1.Resource) []State {
	switch resource {
	case pods:
		return []State{Pending, Unready, Running, Succeeded, Failed, Terminating}
	case deployments:
		return []State{Progressing, Available, Terminating}
	}
	return []State{Present, Terminating}
}

// ReadyState is the state in which an object does what it was made for: running
// or available; Gone for resources without one.
func ReadyState(resource v1.Resource) State {
	switch resource {
	case pods:
		return Running
	case deployments:
		return Available
	}
	return Gone
}

const (
	pods        v1.Resource = "pods"
	deployments v1.Resource = "deployments"
)
