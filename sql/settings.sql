-- Settings: their kinds, units, ranges and who may change them when.
-- Breaks when a range or a default changes, or a misspelt name is accepted.
SELECT name, vartype, boot_val, unit, min_val, max_val, enumvals, context
  FROM pg_settings
 WHERE name IN ('contention_probe.instrument', 'contention_probe.enabled',
                'contention_probe.sample_interval',
                'contention_probe.history_interval',
                'contention_probe.history_size',
                'contention_probe.max_queries')
 ORDER BY name;

SELECT name AS "setting without a description" FROM pg_settings
 WHERE name LIKE 'contention\_probe.%' AND coalesce(short_desc, '') = '';

\set VERBOSITY sqlstate
-- Names that do not exist under the prefix.
SET contention_probe.nonsense = 1;
SET contention_probe.sample_intervall = '10ms';
SELECT set_config('contention_probe.nonsense', '1', false);

-- Values out of their range, and of the wrong kind.
ALTER SYSTEM SET contention_probe.instrument = 'everything';
ALTER SYSTEM SET contention_probe.instrument = '';
ALTER SYSTEM SET contention_probe.enabled = 'perhaps';
ALTER SYSTEM SET contention_probe.sample_interval = 0;
ALTER SYSTEM SET contention_probe.sample_interval = -1;
ALTER SYSTEM SET contention_probe.sample_interval = '2min';
ALTER SYSTEM SET contention_probe.sample_interval = '10 apples';
ALTER SYSTEM SET contention_probe.history_interval = 0;
ALTER SYSTEM SET contention_probe.history_interval = '2h';
ALTER SYSTEM SET contention_probe.history_size = 99;
ALTER SYSTEM SET contention_probe.history_size = 10000001;
ALTER SYSTEM SET contention_probe.max_queries = 15;
ALTER SYSTEM SET contention_probe.max_queries = 1000001;

-- At run time, in a session: only whether it is measured.
SET contention_probe.instrument = 'none';
SET contention_probe.sample_interval = '1s';
SET contention_probe.history_interval = '1s';
SET contention_probe.history_size = 1000;
SET contention_probe.max_queries = 1000;
SET contention_probe.enabled = off;
SELECT enabled FROM contention_probe.status;
RESET contention_probe.enabled;
SELECT enabled FROM contention_probe.status;

-- Units are understood.
ALTER SYSTEM SET contention_probe.sample_interval = '1min';
ALTER SYSTEM SET contention_probe.history_interval = '1h';
ALTER SYSTEM RESET contention_probe.sample_interval;
ALTER SYSTEM RESET contention_probe.history_interval;

-- Function settings are checked as well.
CREATE FUNCTION measured_or_not() RETURNS int LANGUAGE sql
SET contention_probe.nonsense = 1 AS 'SELECT 1';
CREATE FUNCTION measured_or_not() RETURNS boolean LANGUAGE sql
SET contention_probe.enabled = off
AS 'SELECT enabled FROM contention_probe.status';
SELECT measured_or_not();
DROP FUNCTION measured_or_not();
