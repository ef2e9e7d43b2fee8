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
		if l.Open.Duration > 0 {
			words += fmt.Sprintf(" for %v", time.Duration(l.Open.Duration))
		}
		return words
	case l.Closed != nil:
		words := fmt.Sprintf("closed loop, %s", plural(l.Closed.Clients, "client"))
		switch c := l.Closed; {
		case c.Iterations > 0:
			words += fmt.Sprintf(", %d iterations in all", c.Iterations)
		case c.IterationsPerClient > 0:
			words += fmt.Sprintf(", %s each", plural(c.IterationsPerClient, "iteration"))
		case c.Duration > 0:
			words += fmt.Sprintf(", for %v", time.Duration(c.Duration))
		}
		if l.Closed.Think > 0 {
			words += fmt.Sprintf(", thinking for %v", time.Duration(l.Closed.Think))
		}
		return words
	}
	return "no load"
}

// InWords says what the workload does.
func (k *KubeWorkload) InWords() string {
	switch {
	case k == nil:
		return "nothing"
	case k.Create != nil:
		return fmt.Sprintf("create %s of %v in namespace %s", k.Create.Resource, k.Create.Payload, k.Create.Namespace)
	case k.Get != nil:
		return fmt.Sprintf("get single %s in namespace %s", k.Get.Resource, k.Get.Namespace)
	case k.List != nil:
		words := "list all " + string(k.List.Resource)
		if k.List.Namespace != "" {
			words += " in namespace " + string(k.List.Namespace)
		}
		if k.List.PageSize > 0 {
			words += fmt.Sprintf(" in pages of %d", k.List.PageSize)
		}
		return words
	case k.Delete != nil:
		return fmt.Sprintf("delete %d %s in namespace %s", k.Delete.Count, k.Delete.Resource, k.Delete.Namespace)
	case k.Churn != nil:
		words := fmt.Sprintf("create and delete %s of %v in namespace %s", k.Churn.Resource, k.Churn.Payload, k.Churn.Namespace)
		if k.Churn.Wait > 0 {
			words += fmt.Sprintf(", %v apart", time.Duration(k.Churn.Wait))
		}
		return words
	}
	return "nothing"
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
