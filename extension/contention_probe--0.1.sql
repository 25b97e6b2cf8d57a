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
    OUT instrument_reason text,
    OUT dropped_pages bigint,
    OUT dropped_handoffs bigint,
    OUT locks_proven bigint,
    OUT locks_inferred bigint,
    OUT locks_unknown bigint,
    OUT dropped_stacks bigint,
    OUT hooked_processes integer,
    OUT processes integer)
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
'Level asked for by contention_probe.instrument: none, waits or full; none in a server that did not preload the library.';
COMMENT ON COLUMN @extschema@.status.enabled IS
'Setting contention_probe.enabled in this session.';
COMMENT ON COLUMN @extschema@.status.attached IS
'How the library came into the server: preloaded, or attached to it while it ran.';
COMMENT ON COLUMN @extschema@.status.stats_since IS
'When counting started: server start, crash recovery, attach() or reset().';
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
'Mean cost of timing one call, in ns. Sampled: one call in 64 is measured where it happens; before the first one, calibrated at the start of the sampler.';
COMMENT ON COLUMN @extschema@.status.dropped_queries IS
'Waits that were not credited to their statement because contention_probe.max_queries was reached; they are in all other views. Exact.';
COMMENT ON COLUMN @extschema@.status.dropped_locks IS
'Waits for LWLocks that were not credited to their lock because contention_probe.max_locks was reached. Exact.';
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
COMMENT ON COLUMN @extschema@.status.dropped_pages IS
'Waits counted for pages that then gave way in buffer_locks to hotter ones, or that found no place. Exact.';
COMMENT ON COLUMN @extschema@.status.dropped_handoffs IS
'Hand-offs that found no place in lock_handoffs because contention_probe.max_handoffs was reached. Exact.';
COMMENT ON COLUMN @extschema@.status.locks_proven IS
'Waits for LWLocks and content locks whose lock is proven: the process was found in its queue. Exact.';
COMMENT ON COLUMN @extschema@.status.locks_inferred IS
'Waits whose lock is inferred: the only one of its tranche that the process referred to. Exact.';
COMMENT ON COLUMN @extschema@.status.locks_unknown IS
'Waits of which only the tranche is known. Exact.';
COMMENT ON COLUMN @extschema@.status.dropped_stacks IS
'Waits that found no place in wait_stacks because contention_probe.max_stacks was reached. Exact.';
COMMENT ON COLUMN @extschema@.status.hooked_processes IS
'Living processes whose waits are exact: all of them when preloaded; in a server that was attached to, the sessions that loaded the library. Exact.';
COMMENT ON COLUMN @extschema@.status.processes IS
'Living processes of the server. Exact.';

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
'got: entry of the global offset table; callback: function pointer in the table of a kind of statistics; detour: first bytes of a function; executor: a hook variable of the server.';
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
'Completed waits of all processes, living and gone, by wait event. Exact, except for the percentiles. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
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
'Durations of completed waits, by wait event, in buckets of powers of two; empty buckets are left out. Exact. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
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
'Completed waits by process and wait event, living processes each by itself; those that have left are summed by backend type with pid NULL. Exact. The sum over all rows is that of the view waits. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
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
'Completed waits by statement and wait event, that is, of the innermost statement that has a query id; parallel workers count for the statement of their leader. Exact. Waits of idle sessions belong to no statement. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
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
    OUT wait_time double precision,
    OUT lock text,
    OUT lock_mode text,
    OUT blocker_pid integer)
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
'How long the current wait has lasted, in ms. Exact; of a process that is not hooked, sampled, and known for locks only. NULL if it does not wait, or if that is not known.';
COMMENT ON COLUMN @extschema@.backends.waits IS
'Its completed waits that were not idle. Exact. NULL until its first wait.';
COMMENT ON COLUMN @extschema@.backends.wait_time IS
'Their total duration, in ms. Exact. NULL until its first wait.';
COMMENT ON COLUMN @extschema@.backends.lock IS
'LWLock or content lock that it waits for; NULL if it does not wait for one.';
COMMENT ON COLUMN @extschema@.backends.lock_mode IS
'exclusive, shared, share exclusive, or until free: it waits for the release without acquiring.';
COMMENT ON COLUMN @extschema@.backends.blocker_pid IS
'A process that holds the lock, at the level full as it says, at other levels if it sleeps as well; else the one that last woke a waiter of it. NULL if neither is known, or without pg_read_all_stats.';

CREATE FUNCTION @extschema@.history(
    OUT sampled_at timestamptz,
    OUT pid integer,
    OUT backend_type text,
    OUT datid oid,
    OUT userid oid,
    OUT queryid bigint,
    OUT wait_event_type text,
    OUT wait_event text,
    OUT lock text,
    OUT lock_mode text,
    OUT blocker_pid integer,
    OUT cpu integer,
    OUT node integer)
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
COMMENT ON COLUMN @extschema@.history.lock IS
'LWLock or content lock that it waited for; NULL if it did not wait for one.';
COMMENT ON COLUMN @extschema@.history.lock_mode IS
'exclusive, shared, share exclusive, or until free: it waited for the release without acquiring.';
COMMENT ON COLUMN @extschema@.history.blocker_pid IS
'A process that says it holds the lock then, else the one that last woke a waiter of it. NULL if neither is known, or without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.history.cpu IS
'CPU on which it ran, or on which it went to sleep. Sampled. NULL if not known.';
COMMENT ON COLUMN @extschema@.history.node IS
'NUMA node of that CPU. Sampled. NULL if not known.';

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

CREATE FUNCTION @extschema@.lwlocks(
    OUT lock text,
    OUT tranche text,
    OUT waits bigint,
    OUT wait_time double precision,
    OUT shared_waits bigint,
    OUT exclusive_waits bigint,
    OUT queue_time double precision,
    OUT wakeup_time double precision,
    OUT mean_time double precision,
    OUT max_time double precision,
    OUT p95_time double precision,
    OUT proven_waits bigint,
    OUT inferred_waits bigint,
    OUT exclusive_util double precision,
    OUT shared_util double precision,
    OUT queue_length double precision,
    OUT until_free_waits bigint,
    OUT home_node integer,
    OUT remote_handoffs bigint,
    OUT smt_handoffs bigint,
    OUT shared_acquires bigint,
    OUT exclusive_acquires bigint,
    OUT conditional_failures bigint,
    OUT contention double precision,
    OUT timed_holds bigint,
    OUT hold_mean_time double precision,
    OUT hold_max_time double precision,
    OUT hold_p95_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_lwlocks'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100;

CREATE VIEW @extschema@.lwlocks AS
SELECT *
  FROM @extschema@.lwlocks();

REVOKE ALL ON FUNCTION @extschema@.lwlocks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lwlocks() TO pg_monitor;
GRANT SELECT ON @extschema@.lwlocks TO pg_monitor;

COMMENT ON FUNCTION @extschema@.lwlocks() IS
'Source of the view lwlocks.';
COMMENT ON VIEW @extschema@.lwlocks IS
'LWLocks that were waited for, each by itself; content locks of pages are one row (see buffer_locks). At the level full also those of the fixed array and of WAL insertion that were acquired without waiting. Waits and acquisitions are exact, utilisation is sampled, hold times are estimated. After attach(): waits of the hooked processes only (status.hooked_processes of status.processes), NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlocks.lock IS
'Name of the lock; the tranche alone where only that is known.';
COMMENT ON COLUMN @extschema@.lwlocks.tranche IS
'Tranche of the lock: its wait event.';
COMMENT ON COLUMN @extschema@.lwlocks.waits IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.shared_waits IS
'Waits in shared mode. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.exclusive_waits IS
'Waits in exclusive mode. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.queue_time IS
'Of wait_time, the part from the sleep to the wake-up call, in ms: the lock was not free. Exact, of the waits whose waker is known; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlocks.wakeup_time IS
'Of wait_time, the part from the wake-up call to running, in ms: the scheduler. Exact, of the waits whose waker is known; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlocks.mean_time IS
'Mean duration of a wait, in ms. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.max_time IS
'The longest wait, in ms. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.p95_time IS
'95th percentile of the duration, in ms. Estimated from a histogram, right to a factor of two.';
COMMENT ON COLUMN @extschema@.lwlocks.proven_waits IS
'Waits whose lock is proven: the process was found in its queue. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.inferred_waits IS
'Waits whose lock is inferred: the only one of its tranche that the process referred to. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.exclusive_util IS
'Share of looks at which it was held exclusively, 0 to 1. Sampled; NULL if it was not looked at.';
COMMENT ON COLUMN @extschema@.lwlocks.shared_util IS
'Share of looks at which it was held shared, 0 to 1. Sampled; NULL if it was not looked at.';
COMMENT ON COLUMN @extschema@.lwlocks.queue_length IS
'Mean number of processes that waited for it. Sampled; NULL if it was not looked at.';
COMMENT ON COLUMN @extschema@.lwlocks.until_free_waits IS
'Waits for the release without acquiring it. Exact.';
COMMENT ON COLUMN @extschema@.lwlocks.home_node IS
'NUMA node on which the lock lies, at the moment of the query. Exact; NULL if not known (numa_memory tells why).';
COMMENT ON COLUMN @extschema@.lwlocks.remote_handoffs IS
'Times that it was handed over to a process on another node. Exact, of the waits whose waker is known.';
COMMENT ON COLUMN @extschema@.lwlocks.smt_handoffs IS
'Times that it was handed over to a process on a sibling of the same core. Exact, of the waits whose waker is known.';
COMMENT ON COLUMN @extschema@.lwlocks.shared_acquires IS
'Acquisitions in shared mode, waited for or not. Exact; NULL at other levels than full, and for locks that are counted by tranche only.';
COMMENT ON COLUMN @extschema@.lwlocks.exclusive_acquires IS
'Acquisitions in exclusive mode, waited for or not. Exact; NULL at other levels than full, and for locks that are counted by tranche only.';
COMMENT ON COLUMN @extschema@.lwlocks.conditional_failures IS
'Attempts that gave up because the lock was taken. Exact; NULL at other levels than full, and for locks that are counted by tranche only.';
COMMENT ON COLUMN @extschema@.lwlocks.contention IS
'Waits per acquisition. Exact; NULL at other levels than full, and for locks that are counted by tranche only.';
COMMENT ON COLUMN @extschema@.lwlocks.timed_holds IS
'Acquisitions whose hold was timed: one in N, chosen at random (contention_probe.timed_fraction). Exact; NULL at other levels than full, and for locks that are counted by tranche only.';
COMMENT ON COLUMN @extschema@.lwlocks.hold_mean_time IS
'Mean time from acquisition to release, in ms. Estimated from the timed ones; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlocks.hold_max_time IS
'The longest of the timed ones, in ms. Estimated: a longer one may not have been timed; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlocks.hold_p95_time IS
'95th percentile, in ms. Estimated from the timed ones, right to a factor of two; NULL if there are none.';

CREATE FUNCTION @extschema@.lwlock_tranches(
    OUT tranche text,
    OUT waits bigint,
    OUT wait_time double precision,
    OUT shared_waits bigint,
    OUT exclusive_waits bigint,
    OUT queue_time double precision,
    OUT wakeup_time double precision,
    OUT mean_time double precision,
    OUT max_time double precision,
    OUT p95_time double precision,
    OUT proven_waits bigint,
    OUT inferred_waits bigint,
    OUT until_free_waits bigint,
    OUT shared_acquires bigint,
    OUT exclusive_acquires bigint,
    OUT conditional_failures bigint,
    OUT contention double precision,
    OUT timed_holds bigint,
    OUT hold_mean_time double precision,
    OUT hold_max_time double precision,
    OUT hold_p95_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_lwlock_tranches'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100;

CREATE VIEW @extschema@.lwlock_tranches AS
SELECT *
  FROM @extschema@.lwlock_tranches();

REVOKE ALL ON FUNCTION @extschema@.lwlock_tranches() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lwlock_tranches() TO pg_monitor;
GRANT SELECT ON @extschema@.lwlock_tranches TO pg_monitor;

COMMENT ON FUNCTION @extschema@.lwlock_tranches() IS
'Source of the view lwlock_tranches.';
COMMENT ON VIEW @extschema@.lwlock_tranches IS
'Waits for and, at the level full, acquisitions of LWLocks by tranche. Exact, except for the percentile; hold times are estimated. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
COMMENT ON COLUMN @extschema@.lwlock_tranches.tranche IS
'Tranche: the wait event.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.waits IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.shared_waits IS
'Waits in shared mode. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.exclusive_waits IS
'Waits in exclusive mode. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.queue_time IS
'Of wait_time, the part from the sleep to the wake-up call, in ms: the lock was not free. Exact, of the waits whose waker is known; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.wakeup_time IS
'Of wait_time, the part from the wake-up call to running, in ms: the scheduler. Exact, of the waits whose waker is known; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.mean_time IS
'Mean duration of a wait, in ms. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.max_time IS
'The longest wait, in ms. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.p95_time IS
'95th percentile of the duration, in ms. Estimated from a histogram, right to a factor of two.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.proven_waits IS
'Waits whose lock is proven: the process was found in its queue. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.inferred_waits IS
'Waits whose lock is inferred: the only one of its tranche that the process referred to. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.until_free_waits IS
'Waits for the release without acquiring it. Exact.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.shared_acquires IS
'Acquisitions in shared mode, waited for or not. Exact; NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.exclusive_acquires IS
'Acquisitions in exclusive mode, waited for or not. Exact; NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.conditional_failures IS
'Attempts that gave up because the lock was taken. Exact; NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.contention IS
'Waits per acquisition. Exact; NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.timed_holds IS
'Acquisitions whose hold was timed: one in N, chosen at random (contention_probe.timed_fraction). Exact; NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.hold_mean_time IS
'Mean time from acquisition to release, in ms. Estimated from the timed ones; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.hold_max_time IS
'The longest of the timed ones, in ms. Estimated: a longer one may not have been timed; NULL if there are none.';
COMMENT ON COLUMN @extschema@.lwlock_tranches.hold_p95_time IS
'95th percentile, in ms. Estimated from the timed ones, right to a factor of two; NULL if there are none.';

CREATE FUNCTION @extschema@.buffer_locks(
    OUT database oid,
    OUT relation oid,
    OUT relname text,
    OUT fork text,
    OUT block bigint,
    OUT waits bigint,
    OUT wait_time double precision,
    OUT shared_waits bigint,
    OUT exclusive_waits bigint,
    OUT samples bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_buffer_locks'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1000;

CREATE VIEW @extschema@.buffer_locks AS
SELECT *
  FROM @extschema@.buffer_locks();

REVOKE ALL ON FUNCTION @extschema@.buffer_locks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.buffer_locks() TO pg_monitor;
GRANT SELECT ON @extschema@.buffer_locks TO pg_monitor;

COMMENT ON FUNCTION @extschema@.buffer_locks() IS
'Source of the view buffer_locks.';
COMMENT ON VIEW @extschema@.buffer_locks IS
'Pages whose content lock was waited for. Exact for the pages shown; at most contention_probe.max_pages, of which the hottest stay (status.dropped_pages). After attach(): waits of the hooked processes only, NULL if there are none; samples of the others.';
COMMENT ON COLUMN @extschema@.buffer_locks.database IS
'Database of the relation; NULL for shared relations.';
COMMENT ON COLUMN @extschema@.buffer_locks.relation IS
'File number of the relation (pg_relation_filenode).';
COMMENT ON COLUMN @extschema@.buffer_locks.relname IS
'Name of the relation; NULL if it is not of the current database or gone.';
COMMENT ON COLUMN @extschema@.buffer_locks.fork IS
'main, fsm, vm or init.';
COMMENT ON COLUMN @extschema@.buffer_locks.block IS
'Number of the page.';
COMMENT ON COLUMN @extschema@.buffer_locks.waits IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.buffer_locks.wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.buffer_locks.shared_waits IS
'Waits in shared mode. Exact.';
COMMENT ON COLUMN @extschema@.buffer_locks.exclusive_waits IS
'Waits in another mode than shared. Exact.';
COMMENT ON COLUMN @extschema@.buffer_locks.samples IS
'Times that the sampler saw a process wait for it that is not hooked (status.hooked_processes). Sampled.';

CREATE FUNCTION @extschema@.lock_handoffs(
    OUT lock text,
    OUT tranche text,
    OUT waiter_queryid bigint,
    OUT waker_queryid bigint,
    OUT waker_backend_type text,
    OUT handoffs bigint,
    OUT queue_time double precision,
    OUT wakeup_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_lock_handoffs'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1000;

CREATE VIEW @extschema@.lock_handoffs AS
SELECT *
  FROM @extschema@.lock_handoffs();

REVOKE ALL ON FUNCTION @extschema@.lock_handoffs() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.lock_handoffs() TO pg_monitor;
GRANT SELECT ON @extschema@.lock_handoffs TO pg_monitor;

COMMENT ON FUNCTION @extschema@.lock_handoffs() IS
'Source of the view lock_handoffs.';
COMMENT ON VIEW @extschema@.lock_handoffs IS
'Who kept whom waiting: completed waits for LWLocks and content locks by lock, statement of the waiter, and statement and kind of the process that woke it. Exact. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
COMMENT ON COLUMN @extschema@.lock_handoffs.lock IS
'Name of the lock; content locks of pages are one.';
COMMENT ON COLUMN @extschema@.lock_handoffs.tranche IS
'Tranche of the lock.';
COMMENT ON COLUMN @extschema@.lock_handoffs.waiter_queryid IS
'Query id of the waiter; NULL if none, or without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.lock_handoffs.waker_queryid IS
'Query id of the process that released the lock and woke the waiter; NULL if none, or without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.lock_handoffs.waker_backend_type IS
'Kind of that process; NULL: the waker is not known.';
COMMENT ON COLUMN @extschema@.lock_handoffs.handoffs IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.lock_handoffs.queue_time IS
'Time from the sleep to the wake-up call, in ms. Exact; NULL if the waker is not known.';
COMMENT ON COLUMN @extschema@.lock_handoffs.wakeup_time IS
'Time from the wake-up call to running, in ms: the scheduler. Exact; NULL if the waker is not known.';

CREATE FUNCTION @extschema@.wal_insert_locks(
    OUT lock_index integer,
    OUT waits bigint,
    OUT wait_time double precision,
    OUT queue_time double precision,
    OUT wakeup_time double precision,
    OUT exclusive_util double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_wal_insert_locks'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 8;

CREATE VIEW @extschema@.wal_insert_locks AS
SELECT *
  FROM @extschema@.wal_insert_locks();

REVOKE ALL ON FUNCTION @extschema@.wal_insert_locks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.wal_insert_locks() TO pg_monitor;
GRANT SELECT ON @extschema@.wal_insert_locks TO pg_monitor;

COMMENT ON FUNCTION @extschema@.wal_insert_locks() IS
'Source of the view wal_insert_locks.';
COMMENT ON VIEW @extschema@.wal_insert_locks IS
'The WAL insertion locks, each by itself. Waits are exact, utilisation is sampled. After attach(): waits of the hooked processes only (status.hooked_processes of status.processes), NULL if there are none.';
COMMENT ON COLUMN @extschema@.wal_insert_locks.lock_index IS
'Number of the lock, from 0.';
COMMENT ON COLUMN @extschema@.wal_insert_locks.waits IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.wal_insert_locks.wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.wal_insert_locks.queue_time IS
'Of wait_time, the part from the sleep to the wake-up call, in ms. Exact; NULL if no waker is known.';
COMMENT ON COLUMN @extschema@.wal_insert_locks.wakeup_time IS
'Of wait_time, the part from the wake-up call to running, in ms. Exact; NULL if no waker is known.';
COMMENT ON COLUMN @extschema@.wal_insert_locks.exclusive_util IS
'Share of looks at which it was held, 0 to 1. Sampled; NULL if it was not looked at.';

CREATE FUNCTION @extschema@.wal_insert_occupancy(
    OUT locks_held integer,
    OUT samples bigint,
    OUT share double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_wal_insert_occupancy'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 9;

CREATE VIEW @extschema@.wal_insert_occupancy AS
SELECT *
  FROM @extschema@.wal_insert_occupancy();

REVOKE ALL ON FUNCTION @extschema@.wal_insert_occupancy() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.wal_insert_occupancy() TO pg_monitor;
GRANT SELECT ON @extschema@.wal_insert_occupancy TO pg_monitor;

COMMENT ON FUNCTION @extschema@.wal_insert_occupancy() IS
'Source of the view wal_insert_occupancy.';
COMMENT ON VIEW @extschema@.wal_insert_occupancy IS
'How many WAL insertion locks were held at once. Sampled.';
COMMENT ON COLUMN @extschema@.wal_insert_occupancy.locks_held IS
'Number of locks held at once, 0 to all.';
COMMENT ON COLUMN @extschema@.wal_insert_occupancy.samples IS
'Looks at which so many were held. Sampled.';
COMMENT ON COLUMN @extschema@.wal_insert_occupancy.share IS
'Share of these looks, 0 to 1. Sampled; NULL if there were none.';

CREATE FUNCTION @extschema@.stuck_waiters(
    OUT pid integer,
    OUT backend_type text,
    OUT lock text,
    OUT mode text,
    OUT waiting_time double precision,
    OUT lock_state text,
    OUT holder_pids integer[],
    OUT verdict text,
    OUT stack text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_stuck_waiters'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

CREATE VIEW @extschema@.stuck_waiters AS
SELECT *
  FROM @extschema@.stuck_waiters();

REVOKE ALL ON FUNCTION @extschema@.stuck_waiters() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.stuck_waiters() TO pg_monitor;
GRANT SELECT ON @extschema@.stuck_waiters TO pg_monitor;

COMMENT ON FUNCTION @extschema@.stuck_waiters() IS
'Source of the view stuck_waiters.';
COMMENT ON VIEW @extschema@.stuck_waiters IS
'Processes that have waited for an LWLock or content lock for longer than contention_probe.stuck_after, and why, judged at the moment of the query. Exact; holders are known only while they sleep.';
COMMENT ON COLUMN @extschema@.stuck_waiters.pid IS
'Process that waits; NULL for those of other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.stuck_waiters.backend_type IS
'Kind of process, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.stuck_waiters.lock IS
'Lock that it waits for.';
COMMENT ON COLUMN @extschema@.stuck_waiters.mode IS
'exclusive, shared, share exclusive, or until free.';
COMMENT ON COLUMN @extschema@.stuck_waiters.waiting_time IS
'How long, in ms. Exact; of a process that is not hooked, since the sampler first saw it wait.';
COMMENT ON COLUMN @extschema@.stuck_waiters.lock_state IS
'free, exclusive, shared with the number of holders, or unknown. Exact.';
COMMENT ON COLUMN @extschema@.stuck_waiters.holder_pids IS
'Processes that hold it: at the level full all, at other levels those that sleep; where none is known, those that are stopped. NULL: not known, or without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.stuck_waiters.verdict IS
'lost wake-up: nobody holds the lock and nobody wakes the waiter; holder stopped: a known holder is stopped by a signal or a debugger, or, where no holder is known, a process of the server is; long hold: somebody holds it.';
COMMENT ON COLUMN @extschema@.stuck_waiters.stack IS
'Call path of the waiter, root first; NULL: not known.';

CREATE FUNCTION @extschema@.wait_stacks(
    OUT wait_event_type text,
    OUT wait_event text,
    OUT stack text,
    OUT waits bigint,
    OUT wait_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_wait_stacks'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1000;

CREATE VIEW @extschema@.wait_stacks AS
SELECT s.wait_event_type, s.wait_event, s.stack,
       pg_catalog.sum(s.waits)::pg_catalog.int8 AS waits,
       pg_catalog.sum(s.wait_time) AS wait_time
  FROM @extschema@.wait_stacks() AS s
 GROUP BY s.wait_event_type, s.wait_event, s.stack;

CREATE FUNCTION @extschema@.folded_stacks()
RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL RESTRICTED ROWS 1000
BEGIN ATOMIC
SELECT pg_catalog.concat(
           s.stack || ';',
           pg_catalog.translate(s.wait_event_type || ':' || s.wait_event,
                                ' ;', '__'),
           ' ',
           pg_catalog.round(s.wait_time * 1000)::pg_catalog.int8)
  FROM @extschema@.wait_stacks AS s
 ORDER BY 1;
END;

REVOKE ALL ON FUNCTION @extschema@.wait_stacks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.wait_stacks() TO pg_monitor;
GRANT SELECT ON @extschema@.wait_stacks TO pg_monitor;
REVOKE ALL ON FUNCTION @extschema@.folded_stacks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.folded_stacks() TO pg_monitor;

COMMENT ON FUNCTION @extschema@.wait_stacks() IS
'Source of the view wait_stacks.';
COMMENT ON VIEW @extschema@.wait_stacks IS
'Completed waits that were not idle, by the call path that led to them. Exact. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
COMMENT ON COLUMN @extschema@.wait_stacks.wait_event_type IS
'Class of the wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.wait_stacks.wait_event IS
'Wait event, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.wait_stacks.stack IS
'Functions on the stack, outermost first, separated by semicolons. A function whose name is not known is shown as the file that it is in and its place there. The first one is [truncated] where the stack was deeper than contention_probe.stack_depth, and [unknown] where it could not be followed further. NULL for reads and writes of files that took less than 20 us, whose path is not taken, and on machines where it cannot be followed at all.';
COMMENT ON COLUMN @extschema@.wait_stacks.waits IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.wait_stacks.wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON FUNCTION @extschema@.folded_stacks() IS
'The view wait_stacks as the input of flame graph tools: the stack, the wait event as its innermost frame, and the wait time in microseconds.';

CREATE FUNCTION @extschema@.spinlocks(
    OUT function text,
    OUT file text,
    OUT line integer,
    OUT contended bigint,
    OUT spins bigint,
    OUT sleeps bigint,
    OUT spin_time double precision,
    OUT max_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_spinlocks'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 20;

CREATE VIEW @extschema@.spinlocks AS
SELECT s.function, s.file, s.line,
       pg_catalog.sum(s.contended)::pg_catalog.int8 AS contended,
       pg_catalog.sum(s.spins)::pg_catalog.int8 AS spins,
       pg_catalog.sum(s.sleeps)::pg_catalog.int8 AS sleeps,
       pg_catalog.sum(s.spin_time) AS spin_time,
       pg_catalog.max(s.max_time) AS max_time
  FROM @extschema@.spinlocks() AS s
 GROUP BY s.function, s.file, s.line;

REVOKE ALL ON FUNCTION @extschema@.spinlocks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.spinlocks() TO pg_monitor;
GRANT SELECT ON @extschema@.spinlocks TO pg_monitor;

COMMENT ON FUNCTION @extschema@.spinlocks() IS
'Source of the view spinlocks.';
COMMENT ON VIEW @extschema@.spinlocks IS
'Places in the source where a spinlock, or the lock bit of a buffer header or of a lock queue, was found taken. Exact. Empty at other levels than full. From PostgreSQL 19 on the server tells one place, in spin.h, for all that call SpinLockAcquire.';
COMMENT ON COLUMN @extschema@.spinlocks.function IS
'Function that wanted the lock.';
COMMENT ON COLUMN @extschema@.spinlocks.file IS
'Its source file.';
COMMENT ON COLUMN @extschema@.spinlocks.line IS
'Line in it.';
COMMENT ON COLUMN @extschema@.spinlocks.contended IS
'Acquisitions that found the lock taken. Exact.';
COMMENT ON COLUMN @extschema@.spinlocks.spins IS
'Looks that found it still taken. Exact.';
COMMENT ON COLUMN @extschema@.spinlocks.sleeps IS
'Sleeps between looks. Exact.';
COMMENT ON COLUMN @extschema@.spinlocks.spin_time IS
'Time from finding it taken to having it, in ms. Exact.';
COMMENT ON COLUMN @extschema@.spinlocks.max_time IS
'The longest one, in ms. Exact.';

CREATE FUNCTION @extschema@.wal_insertion(
    OUT backend_type text,
    OUT records bigint,
    OUT bytes bigint,
    OUT full_page_images bigint,
    OUT insert_time double precision,
    OUT insert_mean_time double precision,
    OUT insert_p95_time double precision,
    OUT lock_waits bigint,
    OUT lock_wait_time double precision,
    OUT finish_waits bigint,
    OUT finish_wait_time double precision,
    OUT buffers_full bigint,
    OUT buffer_waits bigint,
    OUT buffer_wait_time double precision,
    OUT flushes bigint,
    OUT flush_time double precision,
    OUT flushes_done bigint,
    OUT write_lock_waits bigint,
    OUT write_lock_wait_time double precision,
    OUT write_time double precision,
    OUT sync_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_wal_insertion'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 5;

CREATE VIEW @extschema@.wal_insertion AS
SELECT *
  FROM @extschema@.wal_insertion();

REVOKE ALL ON FUNCTION @extschema@.wal_insertion() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.wal_insertion() TO pg_monitor;
GRANT SELECT ON @extschema@.wal_insertion TO pg_monitor;

COMMENT ON FUNCTION @extschema@.wal_insertion() IS
'Source of the view wal_insertion.';
COMMENT ON VIEW @extschema@.wal_insertion IS
'What inserting and flushing WAL costs, by kind of process. Counts and waits are exact; times of insertion are estimated from one record in N (contention_probe.timed_fraction).';
COMMENT ON COLUMN @extschema@.wal_insertion.backend_type IS
'Kind of process, as in pg_stat_activity; all background workers are one.';
COMMENT ON COLUMN @extschema@.wal_insertion.records IS
'WAL records inserted, as in pg_stat_wal. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.bytes IS
'Their size, as in pg_stat_wal. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.full_page_images IS
'Page images in them, as in pg_stat_wal. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.insert_time IS
'Time that all records took to insert, waits included, in ms. Estimated. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.insert_mean_time IS
'Time that one took, in ms. Estimated. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.insert_p95_time IS
'95th percentile of it, in ms. Estimated, right to a factor of two. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.lock_waits IS
'Sleeps for a WAL insertion lock. Exact. At other levels than full with those of finish_waits.';
COMMENT ON COLUMN @extschema@.wal_insertion.lock_wait_time IS
'Their total duration, in ms. Exact. At other levels than full with that of finish_waits.';
COMMENT ON COLUMN @extschema@.wal_insertion.finish_waits IS
'Sleeps until insertions of others were finished, before WAL could be written. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.finish_wait_time IS
'Their total duration, in ms. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.buffers_full IS
'Times that an insertion had to write WAL because the WAL buffers were full. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.buffer_waits IS
'Sleeps for the lock WALBufMapping, to get a WAL buffer. Exact.';
COMMENT ON COLUMN @extschema@.wal_insertion.buffer_wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.wal_insertion.flushes IS
'Calls of XLogFlush. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.flush_time IS
'Their total duration, in ms. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.flushes_done IS
'Of these, those that neither slept nor wrote, for the WAL was flushed already. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion.write_lock_waits IS
'Sleeps for the lock WALWrite. Exact.';
COMMENT ON COLUMN @extschema@.wal_insertion.write_lock_wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.wal_insertion.write_time IS
'Time spent writing WAL, in ms. Exact.';
COMMENT ON COLUMN @extschema@.wal_insertion.sync_time IS
'Time spent syncing WAL, in ms. Exact.';

CREATE FUNCTION @extschema@.wal_insertion_histogram(
    OUT backend_type text,
    OUT lower_us double precision,
    OUT upper_us double precision,
    OUT records bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_wal_insertion_histogram'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 50;

CREATE VIEW @extschema@.wal_insertion_histogram AS
SELECT *
  FROM @extschema@.wal_insertion_histogram();

REVOKE ALL ON FUNCTION @extschema@.wal_insertion_histogram() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.wal_insertion_histogram() TO pg_monitor;
GRANT SELECT ON @extschema@.wal_insertion_histogram TO pg_monitor;

COMMENT ON FUNCTION @extschema@.wal_insertion_histogram() IS
'Source of the view wal_insertion_histogram.';
COMMENT ON VIEW @extschema@.wal_insertion_histogram IS
'Times that WAL records took to insert, by kind of process, in buckets of powers of two; empty buckets are left out. Of the timed records only: one in N (contention_probe.timed_fraction), chosen at random, so each count is exact and the shape is estimated. Empty at other levels than full.';
COMMENT ON COLUMN @extschema@.wal_insertion_histogram.backend_type IS
'Kind of process, as in wal_insertion.';
COMMENT ON COLUMN @extschema@.wal_insertion_histogram.lower_us IS
'Shortest duration of the bucket, in us, inclusive.';
COMMENT ON COLUMN @extschema@.wal_insertion_histogram.upper_us IS
'Longest duration of the bucket, in us, exclusive; Infinity for the last one.';
COMMENT ON COLUMN @extschema@.wal_insertion_histogram.records IS
'Timed records in the bucket. Exact.';

CREATE FUNCTION @extschema@.pgstat_reports(
    OUT calls bigint,
    OUT "time" double precision,
    OUT forced bigint,
    OUT partial bigint,
    OUT postponed bigint,
    OUT lock_waits bigint,
    OUT lock_wait_time double precision,
    OUT share double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_pgstat_reports'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 1;

CREATE VIEW @extschema@.pgstat_reports AS
SELECT *
  FROM @extschema@.pgstat_reports();

REVOKE ALL ON FUNCTION @extschema@.pgstat_reports() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.pgstat_reports() TO pg_monitor;
GRANT SELECT ON @extschema@.pgstat_reports TO pg_monitor;

COMMENT ON FUNCTION @extschema@.pgstat_reports() IS
'Source of the view pgstat_reports.';
COMMENT ON VIEW @extschema@.pgstat_reports IS
'What handing over cumulative statistics costs all processes together: one row. Exact. The parts are in pgstat_flushes, waits for each lock in lwlocks.';
COMMENT ON COLUMN @extschema@.pgstat_reports.calls IS
'Calls of pgstat_report_stat, at the end of transactions. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.pgstat_reports."time" IS
'Total duration of those that handed something over, from their first entry on, in ms. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.pgstat_reports.forced IS
'Of these, those that were asked to wait for locks. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.pgstat_reports.partial IS
'Of these, those that left something because its lock was taken (kinds in pgstat_flushes). Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.pgstat_reports.postponed IS
'Of these, those that did nothing because the last one was too short ago. Exact. NULL at other levels than full.';
COMMENT ON COLUMN @extschema@.pgstat_reports.lock_waits IS
'Waits for the locks PgStatsDSA, PgStatsHash and PgStatsData. Exact.';
COMMENT ON COLUMN @extschema@.pgstat_reports.lock_wait_time IS
'Their total duration, in ms. Exact.';
COMMENT ON COLUMN @extschema@.pgstat_reports.share IS
'Part of the time in which all processes were not idle that reporting took. Estimated: the time is exact, that of all processes comes from the samples of the view profile. NULL at other levels than full, and where no sample was taken.';

CREATE FUNCTION @extschema@.pgstat_flushes(
    OUT kind text,
    OUT flushes bigint,
    OUT entries bigint,
    OUT lock_failures bigint,
    OUT flush_time double precision,
    OUT max_time double precision,
    OUT share double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_pgstat_flushes'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 10;

CREATE VIEW @extschema@.pgstat_flushes AS
SELECT *
  FROM @extschema@.pgstat_flushes();

REVOKE ALL ON FUNCTION @extschema@.pgstat_flushes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.pgstat_flushes() TO pg_monitor;
GRANT SELECT ON @extschema@.pgstat_flushes TO pg_monitor;

COMMENT ON FUNCTION @extschema@.pgstat_flushes() IS
'Source of the view pgstat_flushes.';
COMMENT ON VIEW @extschema@.pgstat_flushes IS
'Handing over of cumulative statistics from processes to shared memory, by kind of statistics. Exact. Up to PostgreSQL 17 only kinds with many entries are handed over in a way that can be counted. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
COMMENT ON COLUMN @extschema@.pgstat_flushes.kind IS
'Kind of statistics: relation, database, function, ...';
COMMENT ON COLUMN @extschema@.pgstat_flushes.flushes IS
'Attempts to hand over the counts of one entry; for kinds that exist once, all their counts. Exact.';
COMMENT ON COLUMN @extschema@.pgstat_flushes.entries IS
'Of these, those that handed them over. Exact.';
COMMENT ON COLUMN @extschema@.pgstat_flushes.lock_failures IS
'Of these, those that gave up, to try again later, because another process had the lock. Exact.';
COMMENT ON COLUMN @extschema@.pgstat_flushes.flush_time IS
'Their total duration, waits for locks included, in ms. Exact.';
COMMENT ON COLUMN @extschema@.pgstat_flushes.max_time IS
'The longest one, in ms. Exact.';
COMMENT ON COLUMN @extschema@.pgstat_flushes.share IS
'Part of the time in which all processes were not idle that these flushes took. Estimated: their time is exact, that of all processes comes from the samples of the view profile. NULL where no sample was taken.';

CREATE FUNCTION @extschema@.numa_refresh()
RETURNS double precision
AS 'MODULE_PATHNAME', 'cprobe_numa_refresh'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

REVOKE ALL ON FUNCTION @extschema@.numa_refresh() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.numa_refresh() TO pg_monitor;

COMMENT ON FUNCTION @extschema@.numa_refresh() IS
'Look now at the placement of shared memory, for the view numa_memory, instead of waiting for contention_probe.numa_interval. Returns how long that took, in ms.';

CREATE FUNCTION @extschema@.cpu_topology(
    OUT cpu integer,
    OUT core integer,
    OUT socket integer,
    OUT node integer,
    OUT smt_siblings integer[],
    OUT online boolean,
    OUT backends_seen integer)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_cpu_topology'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 64;

CREATE VIEW @extschema@.cpu_topology AS
SELECT *
  FROM @extschema@.cpu_topology();

REVOKE ALL ON FUNCTION @extschema@.cpu_topology() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.cpu_topology() TO pg_monitor;
GRANT SELECT ON @extschema@.cpu_topology TO pg_monitor;

COMMENT ON FUNCTION @extschema@.cpu_topology() IS
'Source of the view cpu_topology.';
COMMENT ON VIEW @extschema@.cpu_topology IS
'CPUs of the machine, as the kernel tells them at the moment of the query. Exact.';
COMMENT ON COLUMN @extschema@.cpu_topology.cpu IS
'Number of the CPU.';
COMMENT ON COLUMN @extschema@.cpu_topology.core IS
'Core that it is part of, numbered over the whole machine in the order of the first CPU; NULL if the CPU is offline.';
COMMENT ON COLUMN @extschema@.cpu_topology.socket IS
'Socket (physical package); NULL if not known.';
COMMENT ON COLUMN @extschema@.cpu_topology.node IS
'NUMA node; NULL if not known.';
COMMENT ON COLUMN @extschema@.cpu_topology.smt_siblings IS
'The other CPUs of its core; empty without SMT. NULL if not known.';
COMMENT ON COLUMN @extschema@.cpu_topology.online IS
'Whether the CPU is in use.';
COMMENT ON COLUMN @extschema@.cpu_topology.backends_seen IS
'Living processes that were on this CPU at their last wait. Exact at that moment of each.';

CREATE FUNCTION @extschema@.numa_nodes(
    OUT node integer,
    OUT cpus integer[],
    OUT total_bytes bigint,
    OUT free_bytes bigint,
    OUT distances integer[],
    OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_numa_nodes'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 4;

CREATE VIEW @extschema@.numa_nodes AS
SELECT *
  FROM @extschema@.numa_nodes();

REVOKE ALL ON FUNCTION @extschema@.numa_nodes() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.numa_nodes() TO pg_monitor;
GRANT SELECT ON @extschema@.numa_nodes TO pg_monitor;

COMMENT ON FUNCTION @extschema@.numa_nodes() IS
'Source of the view numa_nodes.';
COMMENT ON VIEW @extschema@.numa_nodes IS
'NUMA nodes of the machine, as the kernel tells them at the moment of the query. Exact.';
COMMENT ON COLUMN @extschema@.numa_nodes.node IS
'Number of the node.';
COMMENT ON COLUMN @extschema@.numa_nodes.cpus IS
'Its CPUs; empty for a node of memory only.';
COMMENT ON COLUMN @extschema@.numa_nodes.total_bytes IS
'Size of its memory, in bytes; NULL if not known.';
COMMENT ON COLUMN @extschema@.numa_nodes.free_bytes IS
'Of that, what is not in use at all (caches are in use), in bytes; NULL if not known.';
COMMENT ON COLUMN @extschema@.numa_nodes.distances IS
'Distance to each node, in the order of the rows; 10 = local. As the firmware tells it, not measured. NULL if not known.';
COMMENT ON COLUMN @extschema@.numa_nodes.reason IS
'Why something is not known; NULL if all is.';

CREATE FUNCTION @extschema@.run_queue(
    OUT pid integer,
    OUT backend_type text,
    OUT cpu_time double precision,
    OUT user_time double precision,
    OUT system_time double precision,
    OUT run_queue_delay double precision,
    OUT timeslices bigint,
    OUT voluntary_switches bigint,
    OUT involuntary_switches bigint,
    OUT minor_faults bigint,
    OUT major_faults bigint,
    OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_run_queue'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100;

CREATE VIEW @extschema@.run_queue AS
SELECT *
  FROM @extschema@.run_queue();

REVOKE ALL ON FUNCTION @extschema@.run_queue() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.run_queue() TO pg_monitor;
GRANT SELECT ON @extschema@.run_queue TO pg_monitor;

COMMENT ON FUNCTION @extschema@.run_queue() IS
'Source of the view run_queue.';
COMMENT ON VIEW @extschema@.run_queue IS
'CPU time of each process, and how long it was ready to run but had no CPU: since the start of the process, and summed since the start of the server. Exact, from the kernel, at the moment of the query. The rows departed and total have pid NULL; killed processes and those that never had a transaction are in neither.';
COMMENT ON COLUMN @extschema@.run_queue.pid IS
'Process; NULL for sums, and for those of other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.run_queue.backend_type IS
'Kind of process, as in pg_stat_activity; postmaster; departed: the sum of those that have left; total: the sum of all rows.';
COMMENT ON COLUMN @extschema@.run_queue.cpu_time IS
'Time on a CPU, in ms. Exact; NULL without schedstat.';
COMMENT ON COLUMN @extschema@.run_queue.user_time IS
'CPU time in user mode, in ms. Exact to a clock tick of 10 ms.';
COMMENT ON COLUMN @extschema@.run_queue.system_time IS
'CPU time in the kernel, in ms. Exact to a clock tick of 10 ms.';
COMMENT ON COLUMN @extschema@.run_queue.run_queue_delay IS
'Time ready to run but waiting for a CPU, in ms. Exact; NULL without schedstat.';
COMMENT ON COLUMN @extschema@.run_queue.timeslices IS
'Times that it was given a CPU. Exact; NULL without schedstat.';
COMMENT ON COLUMN @extschema@.run_queue.voluntary_switches IS
'Times that it gave up the CPU to sleep. Exact.';
COMMENT ON COLUMN @extschema@.run_queue.involuntary_switches IS
'Times that the CPU was taken from it for another process. Exact.';
COMMENT ON COLUMN @extschema@.run_queue.minor_faults IS
'Page faults that needed no I/O. Exact.';
COMMENT ON COLUMN @extschema@.run_queue.major_faults IS
'Page faults that needed I/O. Exact.';
COMMENT ON COLUMN @extschema@.run_queue.reason IS
'Why something is not known; NULL if all is.';

CREATE FUNCTION @extschema@.machine_summary(
    OUT metric text,
    OUT unit text,
    OUT value double precision,
    OUT per_second double precision,
    OUT per_transaction double precision,
    OUT detail text,
    OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_machine_summary'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 16;

CREATE VIEW @extschema@.machine_summary AS
SELECT *
  FROM @extschema@.machine_summary();

REVOKE ALL ON FUNCTION @extschema@.machine_summary() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.machine_summary() TO pg_monitor;
GRANT SELECT ON @extschema@.machine_summary TO pg_monitor;

COMMENT ON FUNCTION @extschema@.machine_summary() IS
'Source of the view machine_summary.';
COMMENT ON VIEW @extschema@.machine_summary IS
'What the server used of the machine since status.stats_since, in total, per second and per transaction: one row for each metric. Exact, with the limits of run_queue; migrations and node_changes are lower bounds.';
COMMENT ON COLUMN @extschema@.machine_summary.metric IS
'transactions: ended, of all processes, committed or not; cpu_time to major_faults: as in run_queue, of all processes; migrations, node_changes: times that a process was on another CPU or node than at its last wait; handoffs, remote_handoffs: locks that were handed over to a waiter, and those between nodes; memory_placement: share of shared memory on the node that has most of it.';
COMMENT ON COLUMN @extschema@.machine_summary.unit IS
'ms, count or share.';
COMMENT ON COLUMN @extschema@.machine_summary.value IS
'The total; NULL if not known.';
COMMENT ON COLUMN @extschema@.machine_summary.per_second IS
'The same for each second; NULL if not known.';
COMMENT ON COLUMN @extschema@.machine_summary.per_transaction IS
'The same for each transaction; NULL if there were none, or if not known.';
COMMENT ON COLUMN @extschema@.machine_summary.detail IS
'memory_placement in words: on which nodes shared memory lies, and the memory policy that the server was started with. Sampled.';
COMMENT ON COLUMN @extschema@.machine_summary.reason IS
'Why it is not known; NULL if it is.';

CREATE FUNCTION @extschema@.numa_handoffs(
    OUT from_node integer,
    OUT to_node integer,
    OUT distance integer,
    OUT within text,
    OUT handoffs bigint,
    OUT queue_time double precision,
    OUT wakeup_time double precision,
    OUT mean_queue_time double precision,
    OUT mean_wakeup_time double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_numa_handoffs'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 16;

CREATE VIEW @extschema@.numa_handoffs AS
SELECT *
  FROM @extschema@.numa_handoffs();

REVOKE ALL ON FUNCTION @extschema@.numa_handoffs() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.numa_handoffs() TO pg_monitor;
GRANT SELECT ON @extschema@.numa_handoffs TO pg_monitor;

COMMENT ON FUNCTION @extschema@.numa_handoffs() IS
'Source of the view numa_handoffs.';
COMMENT ON VIEW @extschema@.numa_handoffs IS
'Locks handed over, by how far: from the CPU of the process that released the lock and woke the waiter to that on which the waiter then ran. Completed waits for LWLocks and content locks whose waker is known. Exact. After attach(): of the hooked processes only (status.hooked_processes of status.processes).';
COMMENT ON COLUMN @extschema@.numa_handoffs.from_node IS
'NUMA node of the waker when it woke the waiter; NULL if not known.';
COMMENT ON COLUMN @extschema@.numa_handoffs.to_node IS
'NUMA node of the waiter when it ran again; NULL if not known.';
COMMENT ON COLUMN @extschema@.numa_handoffs.distance IS
'Distance of the two as the firmware tells it, 10 = local; NULL if not known.';
COMMENT ON COLUMN @extschema@.numa_handoffs.within IS
'The narrowest that both CPUs are in: cpu (the same), core (siblings of one core), node, socket (nodes of one socket), machine.';
COMMENT ON COLUMN @extschema@.numa_handoffs.handoffs IS
'Completed waits. Exact.';
COMMENT ON COLUMN @extschema@.numa_handoffs.queue_time IS
'Their time from the sleep to the wake-up call, in ms. Exact.';
COMMENT ON COLUMN @extschema@.numa_handoffs.wakeup_time IS
'Their time from the wake-up call to running, in ms: the scheduler and the way there. Exact.';
COMMENT ON COLUMN @extschema@.numa_handoffs.mean_queue_time IS
'queue_time of one hand-off, in ms. Exact.';
COMMENT ON COLUMN @extschema@.numa_handoffs.mean_wakeup_time IS
'wakeup_time of one hand-off, in ms: what this distance costs. Exact.';

CREATE FUNCTION @extschema@.numa_memory(
    OUT area text,
    OUT node integer,
    OUT pages bigint,
    OUT bytes bigint,
    OUT page_size bigint,
    OUT method text,
    OUT reason text,
    OUT share double precision,
    OUT share_low double precision,
    OUT share_high double precision,
    OUT sampled_pages bigint,
    OUT measured_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_numa_memory'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 200;

CREATE VIEW @extschema@.numa_memory AS
SELECT *
  FROM @extschema@.numa_memory();

REVOKE ALL ON FUNCTION @extschema@.numa_memory() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.numa_memory() TO pg_monitor;
GRANT SELECT ON @extschema@.numa_memory TO pg_monitor;

COMMENT ON FUNCTION @extschema@.numa_memory() IS
'Source of the view numa_memory.';
COMMENT ON VIEW @extschema@.numa_memory IS
'On which NUMA nodes the areas of main shared memory lie: a row for each area and node, as seen at measured_at (contention_probe.numa_interval, numa_refresh()). Areas of up to 4096 pages are looked at page by page: exact; larger ones by a random sample: estimated. No page is touched, moved or allocated by looking.';
COMMENT ON COLUMN @extschema@.numa_memory.area IS
'Name of the area, as in pg_shmem_allocations.';
COMMENT ON COLUMN @extschema@.numa_memory.node IS
'NUMA node; NULL for pages that have none that is known.';
COMMENT ON COLUMN @extschema@.numa_memory.pages IS
'Pages on it; a page that two areas share counts for both. Exact, or estimated from the sample.';
COMMENT ON COLUMN @extschema@.numa_memory.bytes IS
'Their size, in bytes.';
COMMENT ON COLUMN @extschema@.numa_memory.page_size IS
'Size of a page of shared memory, in bytes.';
COMMENT ON COLUMN @extschema@.numa_memory.method IS
'exact or sample; NULL: nothing could be found out.';
COMMENT ON COLUMN @extschema@.numa_memory.reason IS
'Why there is no node; NULL if there is one.';
COMMENT ON COLUMN @extschema@.numa_memory.share IS
'Share in the pages of the area whose node is known, 0 to 1. Exact, or estimated from the sample.';
COMMENT ON COLUMN @extschema@.numa_memory.share_low IS
'Lower end of the 95 % confidence interval of share.';
COMMENT ON COLUMN @extschema@.numa_memory.share_high IS
'Upper end of the 95 % confidence interval of share.';
COMMENT ON COLUMN @extschema@.numa_memory.sampled_pages IS
'Pages of the area that were looked at.';
COMMENT ON COLUMN @extschema@.numa_memory.measured_at IS
'When the look was taken.';

CREATE FUNCTION @extschema@.numa_backends(
    OUT pid integer,
    OUT backend_type text,
    OUT cpu integer,
    OUT core integer,
    OUT node integer,
    OUT home_node_of_pgproc integer,
    OUT migrations bigint,
    OUT node_changes bigint,
    OUT node_shares double precision[],
    OUT samples bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_numa_backends'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100;

CREATE VIEW @extschema@.numa_backends AS
SELECT *
  FROM @extschema@.numa_backends();

REVOKE ALL ON FUNCTION @extschema@.numa_backends() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.numa_backends() TO pg_monitor;
GRANT SELECT ON @extschema@.numa_backends TO pg_monitor;

COMMENT ON FUNCTION @extschema@.numa_backends() IS
'Source of the view numa_backends.';
COMMENT ON VIEW @extschema@.numa_backends IS
'Where each process runs, and where its PGPROC lies. cpu, core and node are those at the moment of the query; node_shares is sampled.';
COMMENT ON COLUMN @extschema@.numa_backends.pid IS
'Process; NULL for those of other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.numa_backends.backend_type IS
'Kind of process, as in pg_stat_activity.';
COMMENT ON COLUMN @extschema@.numa_backends.cpu IS
'CPU on which it runs, or ran last. Exact, from the kernel.';
COMMENT ON COLUMN @extschema@.numa_backends.core IS
'Core of that CPU (cpu_topology).';
COMMENT ON COLUMN @extschema@.numa_backends.node IS
'NUMA node of that CPU.';
COMMENT ON COLUMN @extschema@.numa_backends.home_node_of_pgproc IS
'NUMA node on which its PGPROC lies, which other processes write to as they wake it. Exact; NULL if not known (numa_memory tells why).';
COMMENT ON COLUMN @extschema@.numa_backends.migrations IS
'Times that it was on another CPU than at its last wait, seen at the begin and the end of each. A lower bound; NULL if it has not waited yet.';
COMMENT ON COLUMN @extschema@.numa_backends.node_changes IS
'Times that it was on another node than at its last wait. A lower bound; NULL if it has not waited yet.';
COMMENT ON COLUMN @extschema@.numa_backends.node_shares IS
'Share of the looks at which it was on each node, from node 0 on. Sampled every contention_probe.machine_interval, if it has done anything since the last look; NULL if there were none.';
COMMENT ON COLUMN @extschema@.numa_backends.samples IS
'Number of these looks.';

CREATE FUNCTION @extschema@.cpu_sharing(
    OUT core integer,
    OUT socket integer,
    OUT node integer,
    OUT cpus integer[],
    OUT samples bigint,
    OUT busy_samples bigint,
    OUT shared_samples bigint,
    OUT sibling_samples bigint,
    OUT shared_while_idle_samples bigint,
    OUT backend_samples bigint,
    OUT sibling_share double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_cpu_sharing'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 16;

CREATE VIEW @extschema@.cpu_sharing AS
SELECT *
  FROM @extschema@.cpu_sharing();

REVOKE ALL ON FUNCTION @extschema@.cpu_sharing() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.cpu_sharing() TO pg_monitor;
GRANT SELECT ON @extschema@.cpu_sharing TO pg_monitor;

COMMENT ON FUNCTION @extschema@.cpu_sharing() IS
'Source of the view cpu_sharing.';
COMMENT ON VIEW @extschema@.cpu_sharing IS
'How backends share cores: looks of the sampler at those that are running, every contention_probe.machine_interval; a row for each core, and one with core NULL for the machine. Sampled.';
COMMENT ON COLUMN @extschema@.cpu_sharing.core IS
'Core (cpu_topology); NULL: looks at which what is counted was true of any core.';
COMMENT ON COLUMN @extschema@.cpu_sharing.socket IS
'Its socket.';
COMMENT ON COLUMN @extschema@.cpu_sharing.node IS
'Its NUMA node.';
COMMENT ON COLUMN @extschema@.cpu_sharing.cpus IS
'Its CPUs.';
COMMENT ON COLUMN @extschema@.cpu_sharing.samples IS
'Looks taken since status.stats_since.';
COMMENT ON COLUMN @extschema@.cpu_sharing.busy_samples IS
'Looks at which a backend was running, or ready to run, there.';
COMMENT ON COLUMN @extschema@.cpu_sharing.shared_samples IS
'Looks at which two or more were.';
COMMENT ON COLUMN @extschema@.cpu_sharing.sibling_samples IS
'Looks at which some were on two or more CPUs of the core: they share its execution units.';
COMMENT ON COLUMN @extschema@.cpu_sharing.shared_while_idle_samples IS
'Of shared_samples, those at which another core had no backend.';
COMMENT ON COLUMN @extschema@.cpu_sharing.backend_samples IS
'Sum of the backends that were running, or ready to run, there.';
COMMENT ON COLUMN @extschema@.cpu_sharing.sibling_share IS
'Share of backend_samples with another backend on a sibling: of the time of backends, that on shared cores. NULL if there were none.';

CREATE FUNCTION @extschema@.perf_counters(
    OUT pid integer,
    OUT backend_type text,
    OUT task_clock double precision,
    OUT context_switches bigint,
    OUT cpu_migrations bigint,
    OUT page_faults bigint,
    OUT cycles bigint,
    OUT instructions bigint,
    OUT ipc double precision,
    OUT llc_misses bigint,
    OUT node_load_misses bigint,
    OUT updated_at timestamptz,
    OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_perf_counters'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED ROWS 100;

CREATE VIEW @extschema@.perf_counters AS
SELECT *
  FROM @extschema@.perf_counters();

REVOKE ALL ON FUNCTION @extschema@.perf_counters() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.perf_counters() TO pg_monitor;
GRANT SELECT ON @extschema@.perf_counters TO pg_monitor;

COMMENT ON FUNCTION @extschema@.perf_counters() IS
'Source of the view perf_counters.';
COMMENT ON VIEW @extschema@.perf_counters IS
'Counters of the kernel and of the CPU by perf_event_open, for each process that has ended a transaction while contention_probe.perf_events was on; since it opened them, as of updated_at. Exact; hardware counters that had to share the hardware are scaled up: estimated. The rows departed and total have pid NULL and count since server start.';
COMMENT ON COLUMN @extschema@.perf_counters.pid IS
'Process; NULL for sums, and for those of other users without pg_read_all_stats.';
COMMENT ON COLUMN @extschema@.perf_counters.backend_type IS
'Kind of process, as in pg_stat_activity; departed: the sum of those that have left or closed them; total: the sum of all rows.';
COMMENT ON COLUMN @extschema@.perf_counters.task_clock IS
'Time on a CPU, in ms.';
COMMENT ON COLUMN @extschema@.perf_counters.context_switches IS
'Times that it left the CPU.';
COMMENT ON COLUMN @extschema@.perf_counters.cpu_migrations IS
'Times that it was moved to another CPU.';
COMMENT ON COLUMN @extschema@.perf_counters.page_faults IS
'Page faults.';
COMMENT ON COLUMN @extschema@.perf_counters.cycles IS
'CPU cycles.';
COMMENT ON COLUMN @extschema@.perf_counters.instructions IS
'Instructions executed.';
COMMENT ON COLUMN @extschema@.perf_counters.ipc IS
'Instructions for each cycle.';
COMMENT ON COLUMN @extschema@.perf_counters.llc_misses IS
'Reads that missed the last-level cache.';
COMMENT ON COLUMN @extschema@.perf_counters.node_load_misses IS
'Reads that went to the memory of another NUMA node.';
COMMENT ON COLUMN @extschema@.perf_counters.updated_at IS
'When the process last told: at most 10 ms before the end of its last transaction.';
COMMENT ON COLUMN @extschema@.perf_counters.reason IS
'Why counters are missing, or count in user mode only; NULL if all count.';

CREATE FUNCTION @extschema@.cpu_profile(
    seconds double precision DEFAULT 5,
    frequency integer DEFAULT 99,
    OUT backend_type text,
    OUT stack text,
    OUT samples bigint,
    OUT share double precision,
    OUT cpu_time double precision,
    OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cprobe_cpu_profile'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE ROWS 1000;

REVOKE ALL ON FUNCTION @extschema@.cpu_profile(double precision, integer) FROM PUBLIC;

COMMENT ON FUNCTION @extschema@.cpu_profile(double precision, integer) IS
'What all processes of the server but this one do on their CPUs in the next seconds, by a timer of perf_event that fires frequency times in each second of CPU time: backend_type, stack (folded: outermost first, ";" between, functions of the kernel end in _[k]), samples, share of all samples, cpu_time in ms, most samples first. Sampled. Rows without a stack tell by reason what is missing. Superusers only; takes as long as it says and can be cancelled. Meanwhile each switch between processes costs more, in virtual machines several microseconds. Errors: seconds outside of (0, 3600], frequency outside of [1, 10000].';

CREATE FUNCTION @extschema@.attach()
RETURNS text
AS 'MODULE_PATHNAME', 'cprobe_attach'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION @extschema@.detach()
RETURNS text
AS 'MODULE_PATHNAME', 'cprobe_detach'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION @extschema@.before_drop()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'cprobe_before_drop'
LANGUAGE C;

CREATE EVENT TRIGGER contention_probe_before_drop
    ON ddl_command_start WHEN TAG IN ('DROP EXTENSION')
    EXECUTE FUNCTION @extschema@.before_drop();

REVOKE ALL ON FUNCTION @extschema@.attach() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.detach() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.before_drop() FROM PUBLIC;

COMMENT ON FUNCTION @extschema@.attach() IS
'Start sampling in a server that has not preloaded the library: attached, already attached, or preloaded. Not undone by a rollback; lasts until detach() or the end of the server.';
COMMENT ON FUNCTION @extschema@.detach() IS
'End what attach() began, and forget what was counted: detached, or not attached.';
COMMENT ON FUNCTION @extschema@.before_drop() IS
'Detaches before DROP EXTENSION contention_probe.';
COMMENT ON EVENT TRIGGER contention_probe_before_drop IS
'Detaches before DROP EXTENSION contention_probe.';

CREATE FUNCTION @extschema@.reset()
RETURNS void
AS 'MODULE_PATHNAME', 'cprobe_reset'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION @extschema@.reset() FROM PUBLIC;

COMMENT ON FUNCTION @extschema@.reset() IS
'Start all statistics anew. Of a wait that is going on, the part after this moment will count.';

GRANT USAGE ON SCHEMA @extschema@ TO pg_monitor;
