package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/storage"
)

// Temporary creates a database on the same server, for another crawl. The function drop removes
// it.
func (d *database) Temporary(ctx context.Context) (state storage.State, drop func() error, err error) {
	name := fmt.Sprintf("permesso_%016x", rand.Uint64())
	if err := d.once(ctx, "create database "+name); err != nil {
		return nil, nil, err
	}
	own := &database{config: d.config.Copy(), lease: d.lease}
	own.config.ConnConfig.Database = name
	drop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return d.once(ctx, "drop database "+name+" with (force)")
	}
	return own, drop, nil
}

// once executes one statement over a connection of its own.
func (d *database) once(ctx context.Context, sql string) error {
	conn, err := pgx.ConnectConfig(ctx, d.config.ConnConfig)
	if err != nil {
		return d.failed(err)
	}
	_, err = conn.Exec(ctx, sql)
	return d.failed(errors.Join(err, conn.Close(ctx)))
}
