package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/assets"
)

// stamp is what the toolchain has written into this program about its source.
func stamp() (version, commit, date string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)", "", ""
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.time":
			date = setting.Value
		}
	}
	return cmp.Or(info.Main.Version, "(devel)"), commit, date
}

// toolVersion is the git tag that plimsoll was built from, or what Go makes of
// the commit where there is none, such as v0.1.1-0.20261121093000-d016716c0de1;
// of changes that are not committed it ends in +dirty.
func toolVersion() string {
	version, _, _ := stamp()
	return version
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
	version, commit, date := stamp()
	source := ""
	if commit != "" {
		source = fmt.Sprintf("commit %s of %s, ", commit, date)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "plimsoll\t%s\t%s%s %s/%s\n", version, source, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, part := range assets.Parts() {
		version, err := part.Version()
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", part.Name, version, part.Package)
	}
	return table.Flush()
}
