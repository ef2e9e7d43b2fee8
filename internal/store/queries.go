package store

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/prometheus/common/model"
)

// Queries are what a Prometheus that is not the run's own answered about it.
// They are kept, so that reports need nothing but the directory.
type Queries struct {
	SchemaVersion int `json:"schemaVersion"`
	// Prometheus is the URL that was asked, without credentials, and Asked when that was.
	Prometheus string    `json:"prometheus"`
	Asked      time.Time `json:"asked"`
	Answers    []Answer  `json:"answers"`
}

// Answer is the values of one expression at each second of the measured steps.
type Answer struct {
	Expression string `json:"expression"`
	// Series are written as Prometheus's HTTP API writes them.
	Series model.Matrix `json:"series"`
	// Note says why there is no series.
	Note string `json:"note,omitempty"`
}

// Answer gives the answer to an expression; nil if it was not asked.
func (q *Queries) Answer(expression string) *Answer {
	if q == nil {
		return nil
	}
	for i := range q.Answers {
		if q.Answers[i].Expression == expression {
			return &q.Answers[i]
		}
	}
	return nil
}

// WriteQueries replaces the answers of another Prometheus.
func (r *Run) WriteQueries(q Queries) error {
	q.SchemaVersion = SchemaVersion
	if err := writeJSON(filepath.Join(r.Dir, queriesFile), q); err != nil {
		return err
	}
	r.Queries = &q
	return nil
}

// readQueries reads the answers, if there are any. Only that they need another
// version of plimsoll is an error.
func (r *Run) readQueries() error {
	path := filepath.Join(r.Dir, queriesFile)
	if !exists(path) {
		return nil
	}
	var q Queries
	if err := readJSON(path, &q); err != nil {
		if errors.Is(err, ErrNewer) {
			return err
		}
		r.damaged("%v", err)
		return nil
	}
	r.Queries = &q
	return nil
}
