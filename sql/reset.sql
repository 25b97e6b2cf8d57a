-- reset() starts all statistics anew, of all processes.
-- Breaks when a view keeps numbers of before, or when counting stops.
SELECT pg_sleep(0.01);
SELECT stats_since AS before FROM contention_probe.status \gset
SELECT waits > 0 AS "has waited" FROM contention_probe.waits
 WHERE wait_event = 'PgSleep';
SELECT contention_probe.reset();
SELECT stats_since > :'before' AS "stats_since moved",
       stats_since <= clock_timestamp() AS "to the past"
  FROM contention_probe.status;
SELECT 'waits' AS view, count(*) FROM contention_probe.waits
 WHERE wait_event = 'PgSleep'
UNION ALL
SELECT 'wait_histogram', count(*) FROM contention_probe.wait_histogram
 WHERE wait_event = 'PgSleep'
UNION ALL
SELECT 'backend_waits', count(*) FROM contention_probe.backend_waits
 WHERE wait_event = 'PgSleep'
UNION ALL
SELECT 'query_waits', count(*) FROM contention_probe.query_waits
 WHERE wait_event = 'PgSleep';

-- Counting goes on, from zero.
SELECT pg_sleep(0.01);
SELECT waits FROM contention_probe.waits WHERE wait_event = 'PgSleep';
SELECT waits FROM contention_probe.backend_waits
 WHERE wait_event = 'PgSleep' AND pid = pg_backend_pid();

-- In a transaction that is rolled back it has happened all the same.
BEGIN;
SELECT contention_probe.reset();
ROLLBACK;
SELECT count(*) FROM contention_probe.waits WHERE wait_event = 'PgSleep';

-- Many in a row do no harm.
SELECT count(contention_probe.reset()) FROM generate_series(1, 100);
SELECT pg_sleep(0.01);
SELECT waits FROM contention_probe.waits WHERE wait_event = 'PgSleep';
SELECT dropped_queries, dropped_profile FROM contention_probe.status;
