package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/assets"
)

// release is the version that this tree will be released as.
const release = "v0.1.0-dev"

// toolVersion is the version and, if the build knows it, the commit.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	revision, modified := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) >= 12:
			revision = "+" + setting.Value[:12]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = ".modified"
		}
	}
	return release + revision + modified
}

func newVersion(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of plimsoll and of the parts it builds",
		Example: "  plimsoll version",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return printVersion(env.Stdout) },
	}
}

func printVersion(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "plimsoll\t%s\t%s %s/%s\n", toolVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, part := range assets.Parts() {
		version, err := part.Version()
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", part.Name, version, part.Package)
	}
	return table.Flush()
}
