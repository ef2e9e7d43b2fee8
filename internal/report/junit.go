package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr,omitempty"`
	Failure *junitNote `xml:"failure"`
	Error   *junitNote `xml:"error"`
	Skipped *junitNote `xml:"skipped"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
}

// JUnit writes what passed and what failed, in the form that build servers read:
// a case for the end of each run, for each of its objectives, and for each
// comparison of a primary measure. Worse fails; inconclusive is skipped.
func JUnit(w io.Writer, result *analysis.Result) error {
	all := junitSuites{Name: plain(result.Scenario)}
	all.add(comparisonSuite(result))
	for _, run := range append(slices.Clone(result.Runs), result.Compared...) {
		all.add(runSuite(result, run))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// add counts a suite's cases; an empty suite is left out.
func (all *junitSuites) add(s junitSuite) {
	for _, c := range s.Cases {
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	if s.Tests == 0 {
		return
	}
	all.Suites = append(all.Suites, s)
	all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
}

func comparisonSuite(result *analysis.Result) junitSuite {
	suite := junitSuite{Name: plain(result.Scenario) + " comparisons"}
	primary, _ := primaryFirst(result)
	for _, c := range primary {
		test := junitCase{
			Class:  plain(result.Scenario) + ".comparisons",
			Name:   plain(subjectWords(c.Subject) + whereWords(c.Axes, c.Point) + ": " + c.Variant + " against " + c.Baseline),
			Output: plain(sentence(c)),
		}
		switch c.Verdict {
		case stats.Worse:
			test.Failure = &junitNote{test.Output}
		case stats.Better, stats.Equivalent:
		default:
			test.Skipped = &junitNote{test.Output}
		}
		suite.Cases = append(suite.Cases, test)
	}
	return suite
}

func runSuite(result *analysis.Result, run *analysis.Run) junitSuite {
	class := plain(result.Scenario + "." + run.Name)
	suite := junitSuite{Name: plain(fmt.Sprintf("run %d, %s", run.Index, run.Name))}
	if !run.Started.IsZero() {
		suite.Timestamp = run.Started.UTC().Format("2006-01-02T15:04:05")
	}
	end := junitCase{Class: class, Name: "runs to its end", Time: number(run.Duration)}
	if run.Status != analysis.Complete {
		end.Error = &junitNote{plain(string(run.Status) + ": " + run.Reason)}
	}
	suite.Cases = append(suite.Cases, end)
	for _, o := range run.Objectives {
		test := junitCase{Class: class, Name: plain(o.Name), Output: plain(fmt.Sprintf("%s %s: %s", o.Subject(), o.Text, objectiveValue(o)))}
		if !o.Held {
			test.Failure = &junitNote{plain(missedSentence(o))}
		}
		suite.Cases = append(suite.Cases, test)
	}
	return suite
}
