package v1alpha1

import (
	"fmt"
	"strings"
	"time"
)

// InWords says what the load is, for plans and reports.
func (l Load) InWords() string {
	switch {
	case l.Open != nil:
		words := fmt.Sprintf("open loop, %v %s arrivals", l.Open.Rate, l.Open.Arrivals)
		if l.Open.RateTo != l.Open.Rate {
			words = fmt.Sprintf("open loop, %v to %v %s arrivals", l.Open.Rate, l.Open.RateTo, l.Open.Arrivals)
		}
		if l.Open.Duration > 0 {
			words += fmt.Sprintf(" for %v", time.Duration(l.Open.Duration))
		}
		return words
	case l.Closed != nil:
		words := fmt.Sprintf("closed loop, %s", plural(l.Closed.Clients, "client"))
		switch c := l.Closed; {
		case c.Iterations > 0:
			words += fmt.Sprintf(", %s in all", plural(c.Iterations, "iteration"))
		case c.IterationsPerClient > 0:
			words += fmt.Sprintf(", %s each", plural(c.IterationsPerClient, "iteration"))
		case c.Duration > 0:
			words += fmt.Sprintf(", for %v", time.Duration(c.Duration))
		}
		if ramp := l.Closed.Ramp; ramp != nil {
			words += fmt.Sprintf(", %d more every %v", ramp.Clients, time.Duration(ramp.Every))
		}
		if l.Closed.Think > 0 {
			words += fmt.Sprintf(", thinking for %v", time.Duration(l.Closed.Think))
		}
		return words
	}
	return "no load"
}

// InWords lists the components.
func (t *LocalTarget) InWords() string {
	var parts []string
	switch d := t.Datastore; {
	case d.Kine != nil && d.Kine.Backend == SQLite:
		parts = append(parts, fmt.Sprintf("kine on sqlite (synchronous %s)", d.Kine.Synchronous))
	case d.Kine != nil:
		parts = append(parts, fmt.Sprintf("kine on %s", d.Kine.Backend))
	default:
		parts = append(parts, d.Etcd.inWords())
	}
	if t.KubeAPIServer.On() {
		parts = append(parts, "kube-apiserver"+map[string]string{"metadata": " with an audit log of metadata"}[t.KubeAPIServer.Audit])
	}
	if t.KubeControllerManager != nil {
		parts = append(parts, "kube-controller-manager")
	}
	if t.KubeScheduler != nil {
		parts = append(parts, "kube-scheduler")
	}
	if t.Kwok != nil {
		parts = append(parts, t.Kwok.inWords())
	}
	if t.Steve != nil {
		parts = append(parts, t.Steve.inWords())
	}
	words := strings.Join(parts, ", ")
	if t.Downstream != nil {
		words += "; downstream, through a tunnel: " + t.Downstream.plane().InWords()
	}
	return words
}

// inWords says how many members there are, and on what if not on the disk of the results.
func (e *Etcd) inWords() string {
	words := "one etcd member"
	if e == nil {
		return words
	}
	if e.Members > 1 {
		words = fmt.Sprintf("%d etcd members", e.Members)
	}
	switch {
	case e.DataDir != "":
		words += " in " + e.DataDir
	case e.RAMDisk > 0:
		words += fmt.Sprintf(" on a RAM disk of %v", e.RAMDisk)
	}
	if e.WALDir != "" {
		words += " with its log in " + e.WALDir
	}
	return words
}

// InWords says what the folder is on.
func (d *DirectoryTarget) InWords() string {
	switch {
	case d.Path != "":
		return "on the disk of " + d.Path
	case d.RAMDisk > 0:
		return fmt.Sprintf("on a RAM disk of %v", d.RAMDisk)
	}
	return "on the disk of the results"
}

// ResourcesInWords lists resources.
func ResourcesInWords(resources []Resource) string {
	var names []string
	for _, r := range resources {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// InWords says what is prepared.
func (p Preparation) InWords() string {
	if p.Fill != nil {
		through := ""
		if p.Fill.Through == ThroughDatastore {
			through = ", straight into the datastore"
		}
		return fmt.Sprintf("fill up to %d %s%s%s", p.Fill.Count, p.Fill.Objects.InWords(), p.Fill.Cluster.inWords(), through)
	}
	return "settle until the target is at rest"
}

// InWords says what the objects are, and where.
func (o Objects) InWords() string {
	what := fmt.Sprintf("%s of %v", o.Resource, o.Payload)
	if o.Template != "" {
		what = "objects of a template"
	}
	return what + placeInWords(o.Namespace, o.Namespaces)
}

func collectionInWords(resource Resource, namespace Name) string {
	return string(resource) + placeInWords(namespace, 0)
}

// placeInWords says in which of the namespaces of a name objects are; nothing, without a name.
func placeInWords(namespace Name, namespaces int) string {
	switch {
	case namespaces > 0:
		return fmt.Sprintf(" in namespaces %s-0 to %s-%d", namespace, namespace, namespaces-1)
	case namespace != "":
		return fmt.Sprintf(" in namespace %s", namespace)
	}
	return ""
}

// BoundInWords gives the objective's bound, such as "≤ 1s".
func (o Objective) BoundInWords() string {
	var bounds []string
	if o.Min != nil {
		bounds = append(bounds, "≥ "+o.Min.Text)
	}
	if o.Max != nil {
		bounds = append(bounds, "≤ "+o.Max.Text)
	}
	return strings.Join(bounds, " and ")
}

// Broken says whether a value is beyond a bound.
func (o Objective) Broken(value float64) bool {
	return o.Max != nil && value > o.Max.Value || o.Min != nil && value < o.Min.Value
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
