package plan

import (
	"strconv"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
)

// checkTemplates renders the first objects of every template, so that what is
// wrong with one is found before anything is started.
func (d *document) checkTemplates(s *v1.Spec) {
	d.checkFills([]string{"spec", "prepare"}, s.Prepare)
	for i, step := range s.Steps {
		at := []string{"spec", "steps", strconv.Itoa(i)}
		d.checkFills(under(at, "prepare"), step.Prepare)
		for j, phase := range step.Phases {
			if phase.Kube != nil {
				d.checkKube(under(at, "phases", strconv.Itoa(j), "kube"), phase.Kube)
			}
		}
	}
}

func (d *document) checkFills(path []string, preparations []v1.Preparation) {
	for i, p := range preparations {
		if p.Fill != nil {
			d.checkObjects(under(path, strconv.Itoa(i), "fill"), p.Fill.Objects)
		}
	}
}

func (d *document) checkKube(path []string, k *v1.KubeWorkload) {
	if field, made := k.Makes(); made != nil {
		d.checkObjects(under(path, field), *made)
	}
	if k.Bundle != nil {
		d.checkBundle(under(path, "bundle", "templates"), k.Bundle)
	}
	for i := range k.Mix {
		d.checkKube(under(path, "mix", strconv.Itoa(i)), &k.Mix[i].KubeWorkload)
	}
}

func (d *document) checkBundle(path []string, b *v1.KubeBundle) {
	for i, template := range b.Templates {
		if _, err := object.New(b.Objects(template), "plan", 0); err != nil {
			d.fault(under(path, strconv.Itoa(i)), "%v", err)
		}
	}
}

func (d *document) checkObjects(path []string, o v1.Objects) {
	if o.Template == "" {
		return
	}
	if _, err := object.New(o, "plan", 0); err != nil {
		d.fault(under(path, "template"), "%v", err)
	}
}

// under is the path of what is under another.
func under(path []string, parts ...string) []string {
	return append(path[:len(path):len(path)], parts...)
}
