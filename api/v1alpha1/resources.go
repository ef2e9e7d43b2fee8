package v1alpha1

import (
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// Resource is the plural name of a built-in resource, such as configmaps.
type Resource string

// The resources whose objects can have a payload without a template.
const (
	ConfigMaps Resource = "configmaps"
	Secrets    Resource = "secrets"
)

// ResourceInfo is what the API server calls a resource, and where it stores it.
type ResourceInfo struct {
	Resource   Resource
	APIVersion string // such as v1 or apps/v1
	Kind       string
	Namespaced bool
	// Prefix of its keys in the datastore, under /registry/.
	Prefix string
}

// Resources lists the built-in resources that scenarios can name. Prefixes are
// those of kube-apiserver's storage (most are the plural; nodes and services are not).
func Resources() []ResourceInfo {
	return []ResourceInfo{
		{ConfigMaps, "v1", "ConfigMap", true, "configmaps"},
		{Secrets, "v1", "Secret", true, "secrets"},
		{"pods", "v1", "Pod", true, "pods"},
		{"services", "v1", "Service", true, "services/specs"},
		{"endpoints", "v1", "Endpoints", true, "services/endpoints"},
		{"serviceaccounts", "v1", "ServiceAccount", true, "serviceaccounts"},
		{"events", "v1", "Event", true, "events"},
		{"persistentvolumeclaims", "v1", "PersistentVolumeClaim", true, "persistentvolumeclaims"},
		{"replicationcontrollers", "v1", "ReplicationController", true, "controllers"},
		{"resourcequotas", "v1", "ResourceQuota", true, "resourcequotas"},
		{"nodes", "v1", "Node", false, "minions"},
		{"namespaces", "v1", "Namespace", false, "namespaces"},
		{"persistentvolumes", "v1", "PersistentVolume", false, "persistentvolumes"},
		{"deployments", "apps/v1", "Deployment", true, "deployments"},
		{"replicasets", "apps/v1", "ReplicaSet", true, "replicasets"},
		{"statefulsets", "apps/v1", "StatefulSet", true, "statefulsets"},
		{"daemonsets", "apps/v1", "DaemonSet", true, "daemonsets"},
		{"jobs", "batch/v1", "Job", true, "jobs"},
		{"cronjobs", "batch/v1", "CronJob", true, "cronjobs"},
		{"leases", "coordination.k8s.io/v1", "Lease", true, "leases"},
		{"endpointslices", "discovery.k8s.io/v1", "EndpointSlice", true, "endpointslices"},
		{"ingresses", "networking.k8s.io/v1", "Ingress", true, "ingress"},
		{"networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", true, "networkpolicies"},
		{"roles", "rbac.authorization.k8s.io/v1", "Role", true, "roles"},
		{"rolebindings", "rbac.authorization.k8s.io/v1", "RoleBinding", true, "rolebindings"},
		{"clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole", false, "clusterroles"},
	}
}

// Info is what is known of the resource; false says that it is not built in.
func (r Resource) Info() (ResourceInfo, bool) {
	i := slices.IndexFunc(Resources(), func(info ResourceInfo) bool { return info.Resource == r })
	if i < 0 {
		return ResourceInfo{}, false
	}
	return Resources()[i], true
}

// Collection is the API path of the resource's objects in a namespace; of all of
// them, if the namespace is empty or the objects are in none.
func (i ResourceInfo) Collection(namespace Name) string {
	root := "/api/v1"
	if strings.Contains(i.APIVersion, "/") {
		root = "/apis/" + i.APIVersion
	}
	if namespace != "" && i.Namespaced {
		root += "/namespaces/" + string(namespace)
	}
	return root + "/" + string(i.Resource)
}

// HasPayload says that objects of the resource can be made without a template.
func (r Resource) HasPayload() bool { return r == ConfigMaps || r == Secrets }

// JSONSchema lists the resources.
func (Resource) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, info := range Resources() {
		s.Enum = append(s.Enum, string(info.Resource))
	}
	return s
}
