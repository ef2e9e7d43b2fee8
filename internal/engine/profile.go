package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target"
)

// profile takes the profiles of a step beside its phases. What it returns waits
// for them. One that cannot be taken is told of, and nothing is lost but that.
func (r *run) profile(ctx context.Context, step *v1.Step) (wait func()) {
	var group sync.WaitGroup
	if step.Profile != nil {
		for _, component := range step.Profile.Components {
			group.Go(func() {
				if err := r.profileOne(ctx, string(step.Name), component, time.Duration(step.Profile.For)); err != nil && ctx.Err() == nil {
					r.event(store.ProfileFailed, component, err.Error())
					r.Watcher.Say("%s could not be profiled: %v", component, err)
				}
			})
		}
	}
	return group.Wait
}

func (r *run) profileOne(ctx context.Context, step, component string, lasting time.Duration) (err error) {
	profiled, _ := r.target.(target.Profiled)
	if profiled == nil {
		return errors.New("the target cannot be profiled")
	}
	url, client, ok := profiled.Profiles(component)
	if !ok {
		return errors.New("it serves no profiles")
	}
	seconds := int(lasting.Round(time.Second).Seconds())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/profile?seconds=%d", url, seconds), nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL, response.Status)
	}
	file, err := r.writer.Profile(step, component)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, response.Body)
	return err
}
