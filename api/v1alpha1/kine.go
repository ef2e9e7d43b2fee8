package v1alpha1

// Kine is kine over an SQL database: SQLite in a file, or a private PostgreSQL or
// MariaDB server that plimsoll starts for the run from what is installed, or a
// database of the user's.
type Kine struct {
	// Kind of the database.
	Backend Backend `json:"backend" jsonschema:"enum=sqlite,enum=postgres,enum=mariadb"`
	// Data source of a database that runs already, such as postgres://user@host:5432/name?sslmode=disable; plimsoll neither starts, empties nor drops it, so what a run makes is there in the next: name an empty one where counts matter. Default: a server that plimsoll starts.
	DSN string `json:"dsn,omitempty"`
	// When SQLite waits for the disk: normal (not at each commit) or full (at each, as etcd does). Default full.
	Synchronous string `json:"synchronous,omitempty" jsonschema:"enum=normal,enum=full"`
	// Most connections of kine to the database; 0 is without bound, as kine has it. Default 100 for postgres and mariadb.
	MaxConnections *int `json:"maxConnections,omitempty" jsonschema:"minimum=0"`
	// Settings of the database server laid over its own defaults, such as shared_buffers.
	Settings Flags `json:"settings,omitempty"`
	// Flags of kine, laid over plimsoll's own; null removes one.
	Flags Flags `json:"flags,omitempty"`
	// Folder under which the database gets a data directory of its own for the run, removed after it. Default: in the run directory.
	DataDir string `json:"dataDir,omitempty"`
}

// Backend is a kind of SQL database.
type Backend string

// The backends.
const (
	SQLite   Backend = "sqlite"
	Postgres Backend = "postgres"
	MariaDB  Backend = "mariadb"
)
