package assets

import (
	"os"
	"strings"
	"testing"
)

func TestZZBuild(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	for _, n := range strings.Split(os.Getenv("ZZ"), ",") {
		f := &Finder{Progress: func(e Event) {
			if e.Phase == Ready {
				t.Log(e.Part, e.Elapsed)
			}
		}}
		b, err := f.Find(t.Context(), n)
		t.Log(b, err)
	}
}
