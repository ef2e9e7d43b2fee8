package store

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheDiskOfAHostInWords(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"from fields", `{"fileSystem": "ext4", "device": "/dev/vda", "mountOptions": "rw;rw,nobarrier"}`,
			"ext4 on /dev/vda, mounted rw and rw,nobarrier|it is mounted nobarrier: syncs do not flush, and a power cut loses what was acknowledged"},
		{"of results that tell it themselves", `{"fileSystem": "ext4", "device": "/dev/vda", "disk": "ext4 on /dev/vda, mounted ro", "diskCaveats": ["beware"]}`,
			"ext4 on /dev/vda, mounted ro|beware"},
		{"of older ones", `{"fileSystem": "ext4", "device": "/dev/vda"}`, "ext4 on /dev/vda"},
		{"that is not known", `{}`, "an unknown file system"},
	} {
		var h Host
		if err := json.Unmarshal([]byte(row.text), &h); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(h.DiskWords(), "|"); got != row.want {
			t.Errorf("%s: %s", row.name, got)
		}
	}
}
