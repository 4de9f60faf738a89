package postgres

// format is the version of the layout of the tables. A database with another version is refused.
const format = 2

// partitions is the number of partitions of a new crawl.
const partitions = 256

// tables creates the tables of a crawl. In each table with data of sites, the first column of the
// key is the partition, so that the tables can be divided by it.
//
// queue.kind is the reason why an entry is queued (see the type kind). The primary key of queue
// has the order in which entries without a due time are requested. The column n is the number of
// an entry: the time at which it was found, in microseconds, and the number of the node that found
// it.
//
// crawl.pages and crawl.bytes are what all nodes together have been granted of the limits of the
// whole crawl. They include what was spent, and the credit that nodes still have. node.pages and
// node.bytes are what the session has spent of its credit in pages_credit and bytes_credit.
//
// part.wish is another partition that must be at the same node for a while. part.wished is the
// time of this wish.
//
// crawl.orders counts the orders; those up to crawl.since are from earlier runs.
//
// crawl.timeline is the timeline of the server on which the last session began. node.changes
// counts the transactions that the memory of the node relies on (see session.changes).
const tables = `
create schema crawl;
create table crawl.crawl (
	id int primary key check (id = 1),
	format int not null, parts int not null, seed bigint not null, suffixes text not null, created timestamptz not null default clock_timestamp(),
	orders bigint not null default 0, since bigint not null default 0,
	pages bigint not null default 0, bytes bigint not null default 0,
	timeline bigint not null default 0);
create table crawl.node (
	id uuid primary key, name text not null unique, num smallint not null unique,
	until timestamptz not null, seq bigint not null default 0, changes bigint not null default 0, idle bigint not null default -1,
	over bigint not null default -1, verdict smallint not null default 0,
	starved boolean not null default false, pages bigint not null default 0, bytes bigint not null default 0,
	pages_credit bigint not null default 0, bytes_credit bigint not null default 0,
	place text not null default '', began timestamptz not null default clock_timestamp()) with (fillfactor = 20);
create table crawl.home (
	name text primary key, open boolean not null, committed timestamptz, indexed jsonb);
create table crawl.part (id int primary key, owner uuid, rest timestamptz, wish int, wished timestamptz) with (fillfactor = 50);
create table crawl.site (
	part int not null, id bigint not null, name text not null,
	clocks bytea, spent bytea, fate bytea, ended bigint not null default 0,
	primary key (part, id), unique (part, name)) with (fillfactor = 70);
create table crawl.entry (
	part int not null, site bigint not null, key uuid not null, n bigint not null,
	rank smallint not null, depth int not null, flags smallint not null,
	url text not null, via text, hops text, tag text, same text, visits bytea,
	fate bytea, code smallint, status smallint,
	primary key (part, site, key)) with (fillfactor = 85);
create table crawl.queue (
	part int not null, site bigint not null, kind smallint not null, rank smallint not null, n bigint not null,
	key uuid not null, due timestamptz, tries int not null default 0,
	primary key (part, site, kind, rank, n))
	with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index queue_due on crawl.queue (part, site, due, n) where due is not null;
create table crawl.aside (part int not null, site bigint not null, key uuid not null, primary key (part, site, key));
create table crawl.news (
	part int not null, id bigint not null, site bigint not null, k int not null, head smallint not null, first bigint not null,
	primary key (part, id)) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create table crawl.common (name text primary key, due timestamptz not null) with (fillfactor = 70);
create table crawl.snapshot (
	part int not null, site text not null, put bigint not null, at timestamptz not null, record jsonb not null, body bytea,
	primary key (part, site, put));
create table crawl.body (digest bytea primary key, gzip bytea not null);
create table crawl.value (node text not null, key text not null, value jsonb not null, primary key (node, key));
create table crawl.orders (
	n bigint primary key, id bigint not null unique, node uuid not null, body jsonb not null, given timestamptz not null default clock_timestamp());
create unlogged table crawl.address (addr text primary key, due timestamptz not null, holder uuid not null, wanted timestamptz) with (fillfactor = 50);
create table crawl.payload (node text not null, digest text not null, date timestamptz not null, url text not null, primary key (node, digest));
create table crawl.mark (
	node text not null, file text not null, finished boolean not null, mark jsonb not null, primary key (node, file))
	with (fillfactor = 50);
create view crawl.sites as
	select s.name, s.part, n.name as node, (select count(*) from crawl.queue q where q.part = s.part and q.site = s.id) as queued, s.ended
	from crawl.site s join crawl.part p on p.id = s.part left join crawl.node n on n.id = p.owner;
create view crawl.urls as
	select e.url, s.name as site, e.depth, e.via, e.code, e.status, e.code is null as queued
	from crawl.entry e join crawl.site s on s.part = e.part and s.id = e.site;
`
