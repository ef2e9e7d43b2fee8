package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/shlex"
)

// Commands in the documentation must be ones that exist, with flags that exist;
// those that only read are carried out.
func TestDocumentedCommands(t *testing.T) {
	root := "../.."
	files, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(data), -1) {
			for line := range strings.Lines(block[1]) {
				words, err := shlex.Split(line) // drops comments, as a shell does
				if err != nil {
					t.Errorf("%s: %q: %v", file, line, err)
				}
				if len(words) == 0 {
					continue
				}
				found++
				if redirection := slices.Index(words, ">"); redirection > 0 {
					words = words[:redirection]
				}
				switch words[0] {
				case "make":
					if !regexp.MustCompile(`(?m)^` + words[1] + `:`).Match(makefile) {
						t.Errorf("%s: there is no make %s", file, words[1])
					}
				case "plimsoll":
					documented(t, file, words[1:])
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d commands were found in the documentation", found)
	}
}

func documented(t *testing.T, file string, args []string) {
	t.Helper()
	var out strings.Builder
	command, rest, err := newRoot(Environment{Stdout: &out, Stderr: &out}).Find(args)
	if err == nil {
		err = command.ParseFlags(rest)
	}
	if err == nil && command.Args != nil {
		err = command.Args(command, command.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: plimsoll %s: %v", file, strings.Join(args, " "), err)
		return
	}
	switch command.Name() {
	case "list", "plan", "version", "schema", "bash":
		env := Environment{Stdout: &out, Stderr: &out, Signals: make(chan os.Signal)}
		if code := Main(env, args); code != 0 {
			t.Errorf("%s: plimsoll %s: exit code %d\n%s", file, strings.Join(args, " "), code, out.String())
		}
	}
}
