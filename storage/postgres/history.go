package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/internal/processes"
)

// A querier is a transaction or a pool of connections.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// readHistory returns the value under processes.HistoryKey, with the processes of all nodes and the
// end of each node's last run. It returns nil if no run has begun. Nodes that begin at the same time
// overwrite each other's value, so each node also stores it under its own name.
func readHistory(ctx context.Context, from querier) ([]byte, error) {
	rows, err := from.Query(ctx, "select node, key, value::text from value where key in ($1, $2) order by node, key", processes.HistoryKey, processes.EndKey)
	if err != nil {
		return nil, err
	}
	var shared map[string]json.RawMessage // the value of the whole crawl, with the settings of the run
	var all []processes.History
	var ends []processes.End
	var node, key string
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&node, &key, &value}, func() error {
		if key == processes.EndKey {
			ends = append(ends, processes.End{})
			return json.Unmarshal(value, &ends[len(ends)-1])
		}
		if node == "" {
			if err := json.Unmarshal(value, &shared); err != nil {
				return err
			}
		}
		all = append(all, processes.History{})
		return json.Unmarshal(value, &all[len(all)-1])
	})
	if err != nil || shared == nil {
		return nil, err
	}
	merged, err := json.Marshal(processes.Merge(all, ends))
	if err == nil {
		err = json.Unmarshal(merged, &shared)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(shared)
}
