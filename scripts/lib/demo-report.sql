-- demo-report.sql: what the demo prints after its run, by psql.
--
-- Wants the variables clients, seconds, scale, tps, latency and transactions,
-- and on standard input a line for each statement: query id, calls (or \N),
-- text.  Everything is copied first, so that all parts tell of one moment.

\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset format unaligned
\pset fieldsep ' '
\pset tuples_only on
SET client_min_messages = warning;

-- In one transaction: a commit's own wait would come between.
BEGIN;

CREATE TEMP TABLE waits AS SELECT * FROM contention_probe.waits;
CREATE TEMP TABLE backend_waits AS SELECT * FROM contention_probe.backend_waits;
CREATE TEMP TABLE query_waits AS SELECT * FROM contention_probe.query_waits;
CREATE TEMP TABLE lwlocks AS SELECT * FROM contention_probe.lwlocks;
CREATE TEMP TABLE profile AS SELECT * FROM contention_probe.profile;
CREATE TEMP TABLE status AS
SELECT *, extract(epoch FROM clock_timestamp() - stats_since) * 1000 AS elapsed
  FROM contention_probe.status;
CREATE TEMP TABLE statements (queryid bigint, calls bigint, query text);
\copy statements FROM pstdin

-- A cell of a table: text to the left, numbers to the right, shares as bars.
CREATE FUNCTION pg_temp.text(what text, width int) RETURNS text
LANGUAGE sql AS $$ SELECT rpad(left(what, width), width) $$;
CREATE FUNCTION pg_temp.number(value float8, decimals int, width int)
RETURNS text LANGUAGE sql AS $$
SELECT lpad(coalesce(to_char(value::numeric, 'FM999,999,999,990' ||
            CASE WHEN decimals > 0 THEN '.' || repeat('0', decimals)
                 ELSE '' END), ''), width) $$;
CREATE FUNCTION pg_temp.share(part float8) RETURNS text LANGUAGE sql AS $$
SELECT rtrim(lpad(to_char(100 * part, 'FM990.0'), 6) || ' % ' ||
             repeat('#', round(20 * least(greatest(part, 0), 1))::int)) $$;

\qecho
\qecho '========================================================================================'
SELECT format('PostgreSQL %s, pgbench TPC-B with %s clients at scale %s for %s s:',
              split_part(current_setting('server_version'), ' ', 1),
              :'clients', :'scale', :'seconds');
SELECT format('%s transactions a second, %s in all, %s ms each on average',
              to_char(:tps, 'FM999,999,990'),
              to_char(:transactions, 'FM999,999,990'),
              to_char(:latency, 'FM999,990.00'));
\qecho '========================================================================================'

-- What is neither wait nor idleness is time on CPU, in the run queue, or in
-- calls that are not hooked: the rest up to clients times seconds.
\qecho
\qecho 'Where the time of the clients'' backends went'
\qecho '                                                   time s    share'
WITH total AS (
    SELECT :clients::float8 * :seconds * 1000 AS ms
), waited AS (
    SELECT CASE WHEN idle THEN 'idle, the client had not asked yet'
                ELSE 'waiting: ' || wait_event_type END AS what,
           idle, sum(wait_time) AS ms
      FROM backend_waits
     WHERE backend_type = 'client backend'
     GROUP BY what, idle
), parts AS (
    SELECT what, ms, CASE WHEN idle THEN 2 ELSE 1 END AS sort FROM waited
    UNION ALL
    SELECT 'on CPU, or ready to run',
           greatest(ms - (SELECT sum(ms) FROM waited), 0), 0
      FROM total
)
SELECT ' ', pg_temp.text(what, 42), pg_temp.number(parts.ms / 1000, 1, 10),
       pg_temp.share(parts.ms / total.ms)
  FROM parts, total
 WHERE parts.ms / total.ms >= 0.0005
 ORDER BY sort, parts.ms DESC;

\qecho
\qecho 'Top waits of all processes, without idleness (exact; p95 estimated)'
\qecho '                                 waits    time s  mean ms   p95 ms    share'
SELECT ' ', pg_temp.text(wait_event_type || '/' || wait_event, 26),
       pg_temp.number(waits, 0, 9), pg_temp.number(wait_time / 1000, 2, 9),
       pg_temp.number(mean_time, 3, 8), pg_temp.number(p95_time, 3, 8),
       pg_temp.share(share)
  FROM waits
 WHERE NOT idle
 ORDER BY wait_time DESC
 LIMIT 10;

\qecho
\qecho 'Top statements by wait (exact)'
\qecho '                                               calls    wait s  ms/call  most of it in'
WITH ranked AS (
    SELECT queryid, wait_event_type || '/' || wait_event AS event, wait_time,
           sum(wait_time) OVER (PARTITION BY queryid) AS total,
           row_number() OVER (PARTITION BY queryid
                              ORDER BY wait_time DESC) AS rank
      FROM query_waits
), texts AS (
    SELECT queryid, max(calls) AS calls,
           regexp_replace(min(query), '\s+', ' ', 'g') AS query
      FROM statements
     GROUP BY queryid
)
SELECT ' ', pg_temp.text(coalesce(query, 'query id ' || queryid), 40),
       pg_temp.number(calls, 0, 9), pg_temp.number(total / 1000, 2, 9),
       pg_temp.number(total / calls, 3, 8),
       format(' %s (%s %%)', event, round(100 * wait_time / total))
  FROM ranked LEFT JOIN texts USING (queryid)
 WHERE rank = 1 AND total >= 0.0001 * (SELECT sum(wait_time) FROM ranked)
 ORDER BY total DESC
 LIMIT 6;

\qecho
\qecho 'LWLocks: time in the queue, and from the wake-up call until running (exact)'
\qecho '                                 waits    time s  queue s  wake-up s'
SELECT ' ', pg_temp.text(lock, 26), pg_temp.number(waits, 0, 9),
       pg_temp.number(wait_time / 1000, 2, 9),
       pg_temp.number(queue_time / 1000, 2, 8),
       pg_temp.number(wakeup_time / 1000, 2, 10)
  FROM lwlocks
 ORDER BY wait_time DESC
 LIMIT 4;

\qecho
\qecho 'What the sampler saw the busy ones of these backends do (sampled)'
\qecho '                                                  samples    share'
WITH busy AS (
    SELECT CASE wait_event_type WHEN 'CPU' THEN wait_event
                ELSE wait_event_type || '/' || wait_event END AS event,
           sum(samples) AS samples
      FROM profile
     WHERE NOT idle AND backend_type = 'client backend'
     GROUP BY event
)
SELECT ' ', pg_temp.text(event, 42), pg_temp.number(samples, 0, 10),
       pg_temp.share(samples / sum(samples) OVER ())
  FROM busy
 ORDER BY samples DESC
 LIMIT 8;

\qecho
\qecho 'What the probe itself cost'
SELECT format('  hooks    %s calls timed, at about %s ns each: %s ms, %s %% of the backends'' time',
              to_char(hook_hits, 'FM999,999,990'),
              to_char(hook_cost_ns, 'FM999999990'),
              to_char(hook_time, 'FM999,990.0'),
              to_char(hook_time / (:clients * :seconds * 10.0), 'FM999990.000'))
  FROM status;
SELECT format('  sampler  %s looks, one every %s ms, %s missed: %s ms of CPU, %s %% of one core',
              to_char(ticks, 'FM999,990'), sample_interval, missed_ticks,
              to_char(sampler_cpu_time, 'FM999,990'),
              to_char(100 * sampler_cpu_time / elapsed, 'FM999990.00'))
  FROM status;
SELECT format('  memory   %s of shared memory, for up to %s processes and %s statements',
              pg_size_pretty(shared_memory_bytes), slots_total, queries_total)
  FROM status;
SELECT format('  dropped  %s', CASE WHEN dropped_queries = 0 THEN 'nothing' ELSE
              dropped_queries || ' waits that could not be credited to a statement' END)
  FROM status;
COMMIT;
