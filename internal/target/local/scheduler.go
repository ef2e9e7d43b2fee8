package local

const (
	schedulerPart = "kube-scheduler"
	schedulerUser = "system:kube-scheduler" // whom RBAC, and priority and fairness, know by this name
)

// buildScheduler gives the scheduler.
func buildScheduler(p *plane) component {
	return buildControl(p, schedulerPart, p.ports.scheduler, nil, p.spec.KubeScheduler.Flags, p.spec.KubeScheduler.Restart)
}
