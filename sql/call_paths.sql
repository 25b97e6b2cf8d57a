--
-- call_paths: shape, rights, settings and reset of wait_stacks and
-- folded_stacks().  Breaks when a column changes, when somebody sees more than
-- he may, or when a setting takes values that it should not.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS contention_probe;
RESET client_min_messages;

-- Shape; everything is commented.
SELECT attname, format_type(atttypid, atttypmod) AS type,
       col_description(attrelid, attnum) IS NOT NULL AS commented
  FROM pg_attribute
 WHERE attrelid = 'contention_probe.wait_stacks'::regclass AND attnum > 0
 ORDER BY attnum;
SELECT proname, pg_get_function_result(oid) AS result,
       obj_description(oid, 'pg_proc') IS NOT NULL AS commented
  FROM pg_proc
 WHERE pronamespace = 'contention_probe'::regnamespace
   AND proname IN ('wait_stacks', 'folded_stacks')
 ORDER BY proname;

-- One path for waits from one place, and one line in the folded form.
SELECT contention_probe.reset();
SELECT pg_sleep(0.001) FROM generate_series(1, 3);
SELECT wait_event_type, wait_event, waits, wait_time >= 3 AS timed,
       stack ~ '^main;.*PostgresMain;.*standard_ExecutorRun;.*pg_sleep;.*WaitLatch' AS whole
  FROM contention_probe.wait_stacks
 WHERE lower(wait_event) = 'pgsleep';
SELECT count(*) AS lines
  FROM contention_probe.folded_stacks() AS line
 WHERE line ~ '^main;[^ ]*;pg_sleep;[^ ]*;Timeout:PgSleep [0-9]+$';
SELECT count(*) AS wrong
  FROM contention_probe.folded_stacks() AS line
 WHERE line !~ '^[^ ;]+(;[^ ;]+)* [0-9]+$';

-- The idle have none.
SELECT count(*) AS idle
  FROM contention_probe.wait_stacks
 WHERE wait_event_type = 'Activity' OR wait_event = 'ClientRead';

-- Reset.
SELECT contention_probe.reset();
SELECT count(*) AS sleeps
  FROM contention_probe.wait_stacks
 WHERE lower(wait_event) = 'pgsleep';

-- Settings.
SHOW contention_probe.stack_depth;
SHOW contention_probe.max_stacks;
SET contention_probe.stack_depth = 33;
SET contention_probe.stack_depth = -1;
SET contention_probe.max_stacks = 100;
SET contention_probe.stack_depth = 0;
SELECT pg_sleep(0.001);
SELECT count(*) AS sleeps
  FROM contention_probe.wait_stacks
 WHERE lower(wait_event) = 'pgsleep';
RESET contention_probe.stack_depth;

-- Rights: members of pg_monitor, and nobody else.
CREATE ROLE regress_cprobe_nobody;
CREATE ROLE regress_cprobe_monitor;
GRANT pg_monitor TO regress_cprobe_monitor;
GRANT USAGE ON SCHEMA contention_probe TO regress_cprobe_nobody;
SET ROLE regress_cprobe_nobody;
SELECT count(*) FROM contention_probe.wait_stacks;
SELECT count(*) FROM contention_probe.wait_stacks();
SELECT count(*) FROM contention_probe.folded_stacks();
SET contention_probe.stack_depth = 1;
SET ROLE regress_cprobe_monitor;
SELECT count(*) >= 0 AS may FROM contention_probe.wait_stacks;
SELECT count(*) >= 0 AS may FROM contention_probe.wait_stacks();
SELECT count(*) >= 0 AS may FROM contention_probe.folded_stacks();
RESET ROLE;
DROP OWNED BY regress_cprobe_nobody;
DROP ROLE regress_cprobe_nobody;
DROP ROLE regress_cprobe_monitor;
