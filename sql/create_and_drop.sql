-- The extension is created once, by a superuser, in its own schema.  Dropped
-- and created again it shows the same statistics: they belong to the server,
-- not to the database.
-- Breaks when the control file and the script disagree, or when something
-- stays behind or does not come back.
\set VERBOSITY sqlstate
CREATE EXTENSION contention_probe;
SELECT e.extversion, e.extrelocatable, n.nspname
  FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
 WHERE e.extname = 'contention_probe';
SELECT contention_probe.reset();
SELECT pg_sleep(0.01);
DROP EXTENSION contention_probe;
SELECT count(*) AS "left behind" FROM pg_class
 WHERE relnamespace = to_regnamespace('contention_probe');
SELECT count(*) AS "left behind" FROM pg_proc
 WHERE pronamespace = to_regnamespace('contention_probe');
CREATE EXTENSION contention_probe SCHEMA public;
CREATE EXTENSION contention_probe VERSION 'none';
CREATE EXTENSION contention_probe VERSION '0.1';
SELECT waits FROM contention_probe.waits WHERE wait_event = 'PgSleep';

-- Objects that use it keep it; it does not take them along.
CREATE VIEW on_top AS SELECT * FROM contention_probe.waits;
DROP EXTENSION contention_probe;
SELECT waits FROM on_top WHERE wait_event = 'PgSleep';
DROP VIEW on_top;

-- In a transaction that is rolled back nothing has happened.
BEGIN;
DROP EXTENSION contention_probe;
ROLLBACK;
SELECT waits FROM contention_probe.waits WHERE wait_event = 'PgSleep';
