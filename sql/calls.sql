-- The functions behind the views work wherever a function can stand, and say
-- clearly what is wrong with a call.
-- Breaks when a function relies on how the views call it.
\set VERBOSITY sqlstate
SELECT contention_probe.waits(NULL);
SELECT contention_probe.waits('''; DROP EXTENSION contention_probe; --');
SELECT contention_probe.status(-1);
SELECT contention_probe.reset(NULL);
SELECT contention_probe.reset(1e300);
SELECT * FROM contention_probe.waits() AS w (a int);
SELECT contention_probe.waits() + 1;
INSERT INTO contention_probe.waits DEFAULT VALUES;
UPDATE contention_probe.status SET ticks = 0;
DELETE FROM contention_probe.history;
TRUNCATE contention_probe.profile;
\set VERBOSITY default

-- In the target list, in a join, with ordinality, several at once.
SELECT count(*) > 0 AS rows FROM (SELECT contention_probe.hooks()) AS h;
SELECT count(*) > 0 AS rows FROM (SELECT (contention_probe.hooks()).*) AS h;
SELECT min(n) AS first FROM contention_probe.hooks() WITH ORDINALITY
       AS h (a, b, c, d, e, f, n);
SELECT count(*) > 0 AS rows
  FROM ROWS FROM (contention_probe.hooks(), contention_probe.status());
SELECT count(DISTINCT h.symbol) = count(*) AS rows
  FROM generate_series(1, 2) AS g
 CROSS JOIN LATERAL (SELECT * FROM contention_probe.hooks() LIMIT 1 OFFSET g)
       AS h;
SELECT count(*) AS rows
  FROM contention_probe.status AS a JOIN contention_probe.status AS b
    USING (slots_total);
SELECT EXISTS (SELECT FROM contention_probe.backends
                WHERE pid = pg_backend_pid()) AS here;
SELECT count(*) AS rows FROM (SELECT * FROM contention_probe.waits LIMIT 0)
       AS w;

-- Read only, in a cursor, prepared, in PL/pgSQL with an error around.
BEGIN READ ONLY;
SELECT count(*) AS rows FROM contention_probe.status;
DECLARE states CURSOR FOR
  SELECT count(*) = 1 AS one FROM contention_probe.status;
FETCH states;
COMMIT;
PREPARE states AS SELECT count(*) AS rows FROM contention_probe.status;
EXECUTE states;
EXECUTE states;
DO $$
BEGIN
  BEGIN
    PERFORM count(*) / 0 FROM contention_probe.waits;
  EXCEPTION WHEN division_by_zero THEN
    PERFORM count(*) FROM contention_probe.waits;
  END;
END $$;

-- In a query that runs in parallel where it can.
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SELECT count(*) > 0 AS rows
  FROM pg_class AS c, contention_probe.status AS s WHERE s.ticks >= 0;
COMMIT;

-- A row of the query itself is right.
SELECT state, wait_event IS NULL AS "on CPU", datid = d.oid AS datid,
       userid = u.oid AS userid, queryid IS NOT NULL AS queryid
  FROM contention_probe.backends, pg_database AS d, pg_roles AS u
 WHERE pid = pg_backend_pid() AND d.datname = current_database()
   AND u.rolname = current_user;
