/* contention_probe/extension/contention_probe--0.1.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION contention_probe" to load this file. \quit

--
-- Every view selects from the function of the same name.  Times are in ms as
-- double precision.  Comments say of each number whether it is exact, sampled
-- or estimated.  Access: members of pg_monitor; pids and query ids of other
-- users' processes are shown to members of pg_read_all_stats only.
--

CREATE FUNCTION @extschema@.status(
    OUT instrument text,
    OUT enabled boolean,
    OUT attached text,
    OUT stats_since timestamptz,
    OUT sampler_pid integer,
    OUT sample_interval double precision,
    OUT ticks bigint,
    OUT missed_ticks bigint,
    OUT sampler_cpu_time double precision,
    OUT slots_used integer,
    OUT slots_total integer,
    OUT shared_memory_bytes bigint,
    OUT hook_hits bigint,
    OUT hook_time double precision,
    OUT hook_cost_ns double precision,
    OUT dropped_queries bigint,
    OUT dropped_locks bigint,
    OUT dropped_profile bigint,
    OUT dropped_types bigint,
    OUT queries_used bigint,
    OUT queries_total bigint,
    OUT instrument_reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_status'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1;

CREATE VIEW @extschema@.status AS
SELECT *
  FROM @extschema@.status();

REVOKE ALL ON FUNCTION @extschema@.status() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.status() TO pg_monitor;
GRANT SELECT ON @extschema@.status TO pg_monitor;

COMMENT ON FUNCTION @extschema@.status() IS
'Source of the view status.';
COMMENT ON VIEW @extschema@.status IS
'What is measured, since when, at what cost, and what was dropped: one row. Counts are exact, hook_time is estimated.';
COMMENT ON COLUMN @extschema@.status.instrument IS
'Level asked for by contention_probe.instrument: none, waits or full.';
COMMENT ON COLUMN @extschema@.status.enabled IS
'Setting contention_probe.enabled in this session.';
COMMENT ON COLUMN @extschema@.status.attached IS
'How the library came into the server: preloaded.';
COMMENT ON COLUMN @extschema@.status.stats_since IS
'When counting started: server start, crash recovery or reset().';
COMMENT ON COLUMN @extschema@.status.sampler_pid IS
'Process of the sampler; NULL while it does not run.';
COMMENT ON COLUMN @extschema@.status.sample_interval IS
'Time between two looks of the sampler, in ms.';
COMMENT ON COLUMN @extschema@.status.ticks IS
'Looks taken since stats_since. Exact.';
COMMENT ON COLUMN @extschema@.status.missed_ticks IS
'Looks left out since stats_since because the sampler came too late. Exact.';
COMMENT ON COLUMN @extschema@.status.sampler_cpu_time IS
'CPU time that the sampler used since stats_since, in ms. Exact, from the kernel.';
COMMENT ON COLUMN @extschema@.status.slots_used IS
'Living processes that have waited at least once since stats_since. Exact.';
COMMENT ON COLUMN @extschema@.status.slots_total IS
'Processes that the server can have at once.';
COMMENT ON COLUMN @extschema@.status.shared_memory_bytes IS
'Size of the shared region, in bytes. Exact.';
COMMENT ON COLUMN @extschema@.status.hook_hits IS
'Calls timed by hooks since stats_since, of all processes. Exact.';
COMMENT ON COLUMN @extschema@.status.hook_time IS
'Time spent in the hooks themselves, in ms. Estimated: hook_hits times hook_cost_ns.';
COMMENT ON COLUMN @extschema@.status.hook_cost_ns IS
'Cost of timing one wait, in ns. Measured at the start of the sampler on this machine.';
COMMENT ON COLUMN @extschema@.status.dropped_queries IS
'Waits that were not credited to their statement because contention_probe.max_queries was reached; they are in all other views. Exact.';
COMMENT ON COLUMN @extschema@.status.dropped_locks IS
'Waits that were not credited to a lock instance. NULL: this version does not identify lock instances.';
COMMENT ON COLUMN @extschema@.status.dropped_profile IS
'Samples that found no place in the profile. Exact.';
COMMENT ON COLUMN @extschema@.status.dropped_types IS
'Times that a background worker was sampled without a name of its own type, since server start. Exact.';
COMMENT ON COLUMN @extschema@.status.queries_used IS
'Statements (database, user, query id) that have waits. Exact.';
COMMENT ON COLUMN @extschema@.status.queries_total IS
'Setting contention_probe.max_queries.';
COMMENT ON COLUMN @extschema@.status.instrument_reason IS
'Why less is measured than instrument says; NULL if all of it is.';

CREATE FUNCTION @extschema@.hooks(
    OUT hook text,
    OUT symbol text,
    OUT mechanism text,
    OUT state text,
    OUT reason text,
    OUT hits bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_hooks'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 24;

CREATE VIEW @extschema@.hooks AS
SELECT *
  FROM @extschema@.hooks();

REVOKE ALL ON FUNCTION @extschema@.hooks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.hooks() TO pg_monitor;
GRANT SELECT ON @extschema@.hooks TO pg_monitor;

COMMENT ON FUNCTION @extschema@.hooks() IS
'Source of the view hooks.';
COMMENT ON VIEW @extschema@.hooks IS
'Every hook, what it is set on, and whether it is active. Exact.';
COMMENT ON COLUMN @extschema@.hooks.hook IS
'What the hook is for.';
COMMENT ON COLUMN @extschema@.hooks.symbol IS
'The function or hook variable that it is set on.';
COMMENT ON COLUMN @extschema@.hooks.mechanism IS
'got: entry of the global offset table; executor: a hook variable of the server.';
COMMENT ON COLUMN @extschema@.hooks.state IS
'active; missing: the server does not call this function; refused: it could not be set; off: not part of this instrument level.';
COMMENT ON COLUMN @extschema@.hooks.reason IS
'Why it is not active; NULL if it is.';
COMMENT ON COLUMN @extschema@.hooks.hits IS
'Calls timed since stats_since, of all processes. Exact. NULL for hooks that are not counted.';

CREATE FUNCTION @extschema@.waits(
    OUT wait_event_type text,
    OUT wait_event text,
    OUT idle boolean,
    OUT waits bigint,
    OUT wait_time double precision,
    OUT mean_time double precision,
    OUT max_time double precision,
    OUT p50_time double precision,
    OUT p95_time double precision,
    OUT p99_time double precision,
    OUT share double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_waits'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100;

CREATE VIEW @extschema@.waits AS
SELECT *
  FROM @extschema@.waits();

REVOKE ALL ON FUNCTION @extschema@.waits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.waits() TO pg_monitor;
GRANT SELECT ON @extschema@.waits TO pg_monitor;

COMMENT ON FUNCTION @extschema@.waits() IS
'Source of the view waits.';
COMMENT ON VIEW @extschema@.waits IS
'Completed waits of all processes, living and gone, by wait event. Exact, except for the percentiles.';
COMMENT ON COLUMN @extschema@.waits.wait_event_type IS
'Class of the wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.waits.wait_event IS
'Wait event, as in pg_stat_activity; (other): events beyond those that have a row of their own.';
COMMENT ON COLUMN @extschema@.waits.idle IS
'The process had nothing to do: background processes in their main loop, clients between two commands.';
COMMENT ON COLUMN @extschema@.waits.waits IS
'Completed waits: sleep loops, however often interrupted. Exact.';
COMMENT ON COLUMN @extschema@.waits.wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.waits.mean_time IS
'Their mean duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.waits.max_time IS
'The longest one, in ms. Exact.';
COMMENT ON COLUMN @extschema@.waits.p50_time IS
'Median duration, in ms. Estimated from wait_histogram, right to a factor of two.';
COMMENT ON COLUMN @extschema@.waits.p95_time IS
'95th percentile of the duration, in ms. Estimated from wait_histogram, right to a factor of two.';
COMMENT ON COLUMN @extschema@.waits.p99_time IS
'99th percentile of the duration, in ms. Estimated from wait_histogram, right to a factor of two.';
COMMENT ON COLUMN @extschema@.waits.share IS
'Share of wait_time in that of all rows that are not idle, 0 to 1. Exact. NULL for idle rows.';

CREATE FUNCTION @extschema@.wait_histogram(
    OUT wait_event_type text,
    OUT wait_event text,
    OUT lower_us double precision,
    OUT upper_us double precision,
    OUT waits bigint,
    OUT idle boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_wait_histogram'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1000;

CREATE VIEW @extschema@.wait_histogram AS
SELECT *
  FROM @extschema@.wait_histogram();

REVOKE ALL ON FUNCTION @extschema@.wait_histogram() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.wait_histogram() TO pg_monitor;
GRANT SELECT ON @extschema@.wait_histogram TO pg_monitor;

COMMENT ON FUNCTION @extschema@.wait_histogram() IS
'Source of the view wait_histogram.';
COMMENT ON VIEW @extschema@.wait_histogram IS
'Durations of completed waits, by wait event, in buckets of powers of two; empty buckets are left out. Exact.';
COMMENT ON COLUMN @extschema@.wait_histogram.wait_event_type IS
'Class of the wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.wait_histogram.wait_event IS
'Wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.wait_histogram.lower_us IS
'Shortest duration of the bucket, in us, inclusive.';
COMMENT ON COLUMN @extschema@.wait_histogram.upper_us IS
'Longest duration of the bucket, in us, exclusive; Infinity for the last one.';
COMMENT ON COLUMN @extschema@.wait_histogram.waits IS
'Completed waits in the bucket. Exact.';
COMMENT ON COLUMN @extschema@.wait_histogram.idle IS
'The process had nothing to do.';

CREATE FUNCTION @extschema@.backend_waits(
    OUT pid integer,
    OUT backend_start timestamptz,
    OUT backend_type text,
    OUT datid oid,
    OUT userid oid,
    OUT wait_event_type text,
    OUT wait_event text,
    OUT idle boolean,
    OUT waits bigint,
    OUT wait_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_backend_waits'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1000;

CREATE VIEW @extschema@.backend_waits AS
SELECT *
  FROM @extschema@.backend_waits();

REVOKE ALL ON FUNCTION @extschema@.backend_waits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.backend_waits() TO pg_monitor;
GRANT SELECT ON @extschema@.backend_waits TO pg_monitor;

COMMENT ON FUNCTION @extschema@.backend_waits() IS
'Source of the view backend_waits.';
COMMENT ON VIEW @extschema@.backend_waits IS
'Completed waits by process and wait event, living processes each by itself; those that have left are summed by backend type with pid NULL. Exact. The sum over all rows is that of the view waits.';
COMMENT ON COLUMN @extschema@.backend_waits.pid IS
'Process; NULL for processes that have left, and for those of other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.backend_waits.backend_start IS
'When the process started; NULL where pid is.';
COMMENT ON COLUMN @extschema@.backend_waits.backend_type IS
'Kind of process, as in pg_stat_activity; "background worker" for those that have left.';
COMMENT ON COLUMN @extschema@.backend_waits.datid IS
'Database that the process is connected to; NULL if none.';
COMMENT ON COLUMN @extschema@.backend_waits.userid IS
'User of the session; NULL if none.';
COMMENT ON COLUMN @extschema@.backend_waits.wait_event_type IS
'Class of the wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.backend_waits.wait_event IS
'Wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.backend_waits.idle IS
'The process had nothing to do.';
COMMENT ON COLUMN @extschema@.backend_waits.waits IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.backend_waits.wait_time IS
'Their total duration, in ms. Exact.';

CREATE FUNCTION @extschema@.query_waits(
    OUT dbid oid,
    OUT userid oid,
    OUT queryid bigint,
    OUT wait_event_type text,
    OUT wait_event text,
    OUT waits bigint,
    OUT wait_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_query_waits'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1000;

CREATE VIEW @extschema@.query_waits AS
SELECT q.dbid, q.userid, q.queryid, q.wait_event_type, q.wait_event,
       pg_catalog.sum(q.waits)::pg_catalog.int8 AS waits,
       pg_catalog.sum(q.wait_time) AS wait_time
  FROM @extschema@.query_waits() AS q
 GROUP BY q.dbid, q.userid, q.queryid, q.wait_event_type, q.wait_event;

REVOKE ALL ON FUNCTION @extschema@.query_waits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.query_waits() TO pg_monitor;
GRANT SELECT ON @extschema@.query_waits TO pg_monitor;

COMMENT ON FUNCTION @extschema@.query_waits() IS
'Source of the view query_waits.';
COMMENT ON VIEW @extschema@.query_waits IS
'Completed waits by statement and wait event, that is, of the innermost statement that has a query id; parallel workers count for the statement of their leader. Exact. Waits of idle sessions belong to no statement.';
COMMENT ON COLUMN @extschema@.query_waits.dbid IS
'Database in which the statement ran.';
COMMENT ON COLUMN @extschema@.query_waits.userid IS
'User who ran it.';
COMMENT ON COLUMN @extschema@.query_waits.queryid IS
'Query id, as in pg_stat_statements; NULL for other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.query_waits.wait_event_type IS
'Class of the wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.query_waits.wait_event IS
'Wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.query_waits.waits IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.query_waits.wait_time IS
'Their total duration, in ms. Exact.';

CREATE FUNCTION @extschema@.backends(
    OUT pid integer,
    OUT backend_type text,
    OUT datid oid,
    OUT userid oid,
    OUT queryid bigint,
    OUT state text,
    OUT wait_event_type text,
    OUT wait_event text,
    OUT wait_age double precision,
    OUT waits bigint,
    OUT wait_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_backends'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100;

CREATE VIEW @extschema@.backends AS
SELECT *
  FROM @extschema@.backends();

REVOKE ALL ON FUNCTION @extschema@.backends() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.backends() TO pg_monitor;
GRANT SELECT ON @extschema@.backends TO pg_monitor;

COMMENT ON FUNCTION @extschema@.backends() IS
'Source of the view backends.';
COMMENT ON VIEW @extschema@.backends IS
'What each process does now, read at the moment of the query. Exact.';
COMMENT ON COLUMN @extschema@.backends.pid IS
'Process; NULL for those of other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.backends.backend_type IS
'Kind of process, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.backends.datid IS
'Database that the process is connected to; NULL if none.';
COMMENT ON COLUMN @extschema@.backends.userid IS
'User of the session; NULL if none.';
COMMENT ON COLUMN @extschema@.backends.queryid IS
'Query id of the statement that it runs, or ran last: the innermost one while it waits, else the top-level one. NULL if there is none, or for other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.backends.state IS
'State of the session, as in pg_stat_activity; NULL for background processes, and for other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.backends.wait_event_type IS
'Class of the event that it waits for now; NULL: it is on CPU or unknown.';
COMMENT ON COLUMN @extschema@.backends.wait_event IS
'Event that it waits for now; NULL: it is on CPU or unknown.';
COMMENT ON COLUMN @extschema@.backends.wait_age IS
'How long the current wait has lasted, in ms. Exact. NULL if it does not wait, or in a call that is not hooked.';
COMMENT ON COLUMN @extschema@.backends.waits IS
'Its completed waits that were not idle. Exact. NULL until its first wait.';
COMMENT ON COLUMN @extschema@.backends.wait_time IS
'Their total duration, in ms. Exact. NULL until its first wait.';

CREATE FUNCTION @extschema@.history(
    OUT sampled_at timestamptz,
    OUT pid integer,
    OUT backend_type text,
    OUT datid oid,
    OUT userid oid,
    OUT queryid bigint,
    OUT wait_event_type text,
    OUT wait_event text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_history'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10000;

CREATE VIEW @extschema@.history AS
SELECT *
  FROM @extschema@.history();

REVOKE ALL ON FUNCTION @extschema@.history() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.history() TO pg_monitor;
GRANT SELECT ON @extschema@.history TO pg_monitor;

COMMENT ON FUNCTION @extschema@.history() IS
'Source of the view history.';
COMMENT ON VIEW @extschema@.history IS
'Busy processes, sampled every contention_probe.history_interval; the last contention_probe.history_size rows. Sampled.';
COMMENT ON COLUMN @extschema@.history.sampled_at IS
'When the sampler looked; the same for all rows of one look.';
COMMENT ON COLUMN @extschema@.history.pid IS
'Process; NULL for those of other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.history.backend_type IS
'Kind of process, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.history.datid IS
'Database that the process was connected to; NULL if none.';
COMMENT ON COLUMN @extschema@.history.userid IS
'User of the session; NULL if none.';
COMMENT ON COLUMN @extschema@.history.queryid IS
'Query id of the statement that it ran; NULL if none is known, or for other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.history.wait_event_type IS
'Class of the event that it waited for; CPU if it did not.';
COMMENT ON COLUMN @extschema@.history.wait_event IS
'Event that it waited for; "CPU or unknown" if it did not.';

CREATE FUNCTION @extschema@.profile(
    OUT backend_type text,
    OUT queryid bigint,
    OUT wait_event_type text,
    OUT wait_event text,
    OUT samples bigint,
    OUT idle boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_profile'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1000;

CREATE VIEW @extschema@.profile AS
SELECT p.backend_type, p.queryid, p.wait_event_type, p.wait_event,
       pg_catalog.sum(p.samples)::pg_catalog.int8 AS samples, p.idle
  FROM @extschema@.profile() AS p
 GROUP BY p.backend_type, p.queryid, p.wait_event_type, p.wait_event, p.idle;

REVOKE ALL ON FUNCTION @extschema@.profile() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.profile() TO pg_monitor;
GRANT SELECT ON @extschema@.profile TO pg_monitor;

COMMENT ON FUNCTION @extschema@.profile() IS
'Source of the view profile.';
COMMENT ON VIEW @extschema@.profile IS
'Samples of all processes by kind, statement and wait event, one look every contention_probe.sample_interval since stats_since. Sampled: a number of samples is not a number of waits.';
COMMENT ON COLUMN @extschema@.profile.backend_type IS
'Kind of process, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.profile.queryid IS
'Query id of the statement that was running; NULL if none is known, or without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.profile.wait_event_type IS
'Class of the event that was waited for; CPU if there was none.';
COMMENT ON COLUMN @extschema@.profile.wait_event IS
'Event that was waited for; "CPU or unknown" if there was none.';
COMMENT ON COLUMN @extschema@.profile.samples IS
'Times that a process was seen so. Sampled.';
COMMENT ON COLUMN @extschema@.profile.idle IS
'The process had nothing to do.';

CREATE FUNCTION @extschema@.reset()
RETURNS void
AS 'MODULE_PATHNAME', 'cprobe_reset'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION @extschema@.reset() FROM PUBLIC;

COMMENT ON FUNCTION @extschema@.reset() IS
'Start all statistics anew. Of a wait that is going on, the part after this moment will count.';

GRANT USAGE ON SCHEMA @extschema@ TO pg_monitor;
