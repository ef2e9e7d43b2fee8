package mount

import "strings"

// InMemory says that nothing written there is ever on a disk.
func (m Mount) InMemory() bool { return m.FileSystem == "tmpfs" || m.FileSystem == "ramfs" }

// Words are one line, such as "ext4 on /dev/vda, mounted rw,relatime".
func (m Mount) Words() string {
	words := m.FileSystem
	if words == "" {
		words = "an unknown file system"
	}
	if m.Device != "" && !m.InMemory() {
		words += " on " + m.Device
	}
	if m.Model != "" {
		words += " (" + m.Model + ")"
	}
	if m.Options != "" {
		words += ", mounted " + strings.ReplaceAll(m.Options, ";", " and ")
	}
	return words
}

// Caveats are sentences about what a sync means there.
func (m Mount) Caveats() []string {
	var all []string
	switch {
	case m.InMemory():
		all = append(all, "this is memory: a sync means nothing, and what is written is gone with the machine")
	case m.FileSystem == "overlay":
		all = append(all, "this is a container's overlay: syncs go through to the file system below, unless it is mounted volatile; a volume is what etcd should have")
	case strings.HasPrefix(m.FileSystem, "nfs"), strings.HasPrefix(m.FileSystem, "fuse"), m.FileSystem == "9p", m.FileSystem == "virtiofs", m.FileSystem == "cifs":
		all = append(all, "what a sync means is for the server or process behind "+m.FileSystem+" to say")
	}
	for _, option := range strings.FieldsFunc(m.Options, func(r rune) bool { return r == ',' || r == ';' }) {
		if option == "nobarrier" || option == "barrier=0" || option == "volatile" {
			all = append(all, "it is mounted "+option+": syncs do not flush, and a power cut loses what was acknowledged")
		}
	}
	if m.Cache == "write through" {
		all = append(all, "the device says that it has no cache to flush (write through), so a sync ends when the write has")
	}
	if m.Guest != "" && !m.InMemory() {
		all = append(all, "this is "+m.Guest+", which cannot know whether its host really flushes")
	}
	return all
}
