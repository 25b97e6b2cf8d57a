-- Who sees what: nothing without pg_monitor, everything with it, and without
-- pg_read_all_stats no process or statement of anybody else.
-- Breaks when a new object is readable by all, or a pid or query id slips out.
\set VERBOSITY sqlstate
SELECT current_user AS owner \gset
CREATE ROLE regress_cprobe_nobody LOGIN;
CREATE ROLE regress_cprobe_monitor LOGIN IN ROLE pg_monitor;
CREATE ROLE regress_cprobe_granted LOGIN;
GRANT USAGE ON SCHEMA contention_probe TO regress_cprobe_granted;
GRANT SELECT ON ALL TABLES IN SCHEMA contention_probe TO regress_cprobe_granted;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA contention_probe
   TO regress_cprobe_granted;

-- By the catalog: every object, also those added later.
SELECT c.relname AS "open to everyone" FROM pg_class AS c
 WHERE c.relnamespace = 'contention_probe'::regnamespace
   AND has_table_privilege('regress_cprobe_nobody', c.oid,
                           'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
UNION ALL
SELECT p.proname FROM pg_proc AS p
 WHERE p.pronamespace = 'contention_probe'::regnamespace
   AND has_function_privilege('regress_cprobe_nobody', p.oid, 'EXECUTE')
UNION ALL
SELECT 'schema'
 WHERE has_schema_privilege('regress_cprobe_nobody', 'contention_probe',
                            'USAGE, CREATE');
SELECT c.relname AS "closed to pg_monitor" FROM pg_class AS c
 WHERE c.relnamespace = 'contention_probe'::regnamespace AND c.relkind = 'v'
   AND NOT has_table_privilege('regress_cprobe_monitor', c.oid, 'SELECT');
SELECT c.relname AS "pg_monitor may change" FROM pg_class AS c
 WHERE c.relnamespace = 'contention_probe'::regnamespace
   AND has_table_privilege('regress_cprobe_monitor', c.oid,
                           'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER');
SELECT has_function_privilege('regress_cprobe_monitor',
                              'contention_probe.reset()', 'EXECUTE')
       AS "pg_monitor may reset",
       has_schema_privilege('regress_cprobe_monitor', 'contention_probe',
                            'CREATE') AS "pg_monitor may create";

-- Statements of the owner, to be hidden from others.
SELECT contention_probe.reset();
SELECT pg_sleep(0.01), 'of the owner';

-- Without any right.
\c - regress_cprobe_nobody
\set VERBOSITY sqlstate
SELECT count(*) FROM contention_probe.status;
SELECT count(*) FROM contention_probe.waits();
SELECT contention_probe.reset();
SET contention_probe.enabled = off;
CREATE EXTENSION contention_probe;
DROP EXTENSION contention_probe;

-- A monitor sees all, and changes nothing.
\c - regress_cprobe_monitor
\set VERBOSITY sqlstate
SELECT count(*) = 1 AS status FROM contention_probe.status;
SELECT count(*) > 0 AS hooks FROM contention_probe.hooks;
SELECT waits FROM contention_probe.waits WHERE wait_event = 'PgSleep';
SELECT sum(waits) FROM contention_probe.wait_histogram
 WHERE wait_event = 'PgSleep';
SELECT q.waits, q.queryid IS NOT NULL AS queryid,
       q.userid = r.oid AS userid
  FROM contention_probe.query_waits AS q, pg_roles AS r
 WHERE wait_event = 'PgSleep' AND r.rolname = :'owner';
SELECT bool_and(pid IS NOT NULL) AS pids FROM contention_probe.backends;
SELECT count(*) > 2 AS "background processes" FROM contention_probe.backends
 WHERE userid IS NULL AND pid IS NOT NULL;
SELECT contention_probe.reset();
SET contention_probe.enabled = off;

-- Rights to look, without pg_read_all_stats: the own session, and numbers.
\c - regress_cprobe_granted
\set VERBOSITY sqlstate
SELECT pg_sleep(0.01);
SELECT waits FROM contention_probe.waits WHERE wait_event = 'PgSleep';
SELECT userid = 'regress_cprobe_granted'::regrole AS own,
       queryid IS NOT NULL AS queryid, sum(waits) AS waits
  FROM contention_probe.query_waits WHERE wait_event = 'PgSleep'
 GROUP BY 1, 2 ORDER BY 1;
SELECT coalesce(userid = 'regress_cprobe_granted'::regrole, false) AS own,
       pid IS NOT NULL AS pid, backend_start IS NOT NULL AS backend_start
  FROM contention_probe.backend_waits
 GROUP BY 1, 2, 3 ORDER BY 1, 2;
SELECT coalesce(userid = 'regress_cprobe_granted'::regrole, false) AS own,
       pid IS NOT NULL AS pid, queryid IS NOT NULL AS queryid,
       state IS NOT NULL AS state
  FROM contention_probe.backends
 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2;
SELECT count(*) AS "pids of others" FROM contention_probe.history
 WHERE (pid IS NOT NULL OR queryid IS NOT NULL)
   AND userid IS DISTINCT FROM 'regress_cprobe_granted'::regrole;
SELECT count(queryid) AS "statements in the profile"
  FROM contention_probe.profile;
SELECT sampler_pid IS NULL OR sampler_pid > 0 AS sampler
  FROM contention_probe.status;

\c - :owner
DROP OWNED BY regress_cprobe_granted;
DROP ROLE regress_cprobe_nobody, regress_cprobe_monitor, regress_cprobe_granted;
