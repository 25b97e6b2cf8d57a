-- Every object and every column has a comment, and that of a number says
-- whether it is exact, sampled or estimated.
-- Breaks when something is added without saying what it is.
SELECT pg_describe_object(d.classid, d.objid, 0) AS "object without a comment"
  FROM pg_depend AS d
  JOIN pg_extension AS e ON e.oid = d.refobjid AND d.deptype = 'e'
 WHERE d.refclassid = 'pg_extension'::regclass
   AND e.extname = 'contention_probe'
   AND d.classid <> 'pg_type'::regclass
   AND obj_description(d.objid, d.classid::regclass::text) IS NULL
 ORDER BY 1;

SELECT c.relname, a.attname AS "column without a comment"
  FROM pg_class AS c
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
 WHERE c.relnamespace = 'contention_probe'::regnamespace AND c.relkind = 'v'
   AND coalesce(col_description(c.oid, a.attnum), '') = ''
 ORDER BY c.relname, a.attnum;

-- Only settings and limits are neither of the three.
SELECT c.relname, a.attname AS "number of no known kind",
       col_description(c.oid, a.attnum) AS comment
  FROM pg_class AS c
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
 WHERE c.relnamespace = 'contention_probe'::regnamespace
   AND c.relname IN ('status', 'hooks', 'waits', 'wait_histogram',
                     'backend_waits', 'query_waits', 'backends', 'history',
                     'profile')
   AND a.atttypid IN ('int4'::regtype, 'int8'::regtype, 'float8'::regtype)
   AND a.attname !~ '(pid|queryid)$'
   AND col_description(c.oid, a.attnum) !~* '\m(exact|sampled|estimated)\M'
 ORDER BY c.relname, a.attnum;

-- Times say their unit.
SELECT c.relname, a.attname AS "time without a unit"
  FROM pg_class AS c
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
 WHERE c.relnamespace = 'contention_probe'::regnamespace
   AND a.attname ~ '(_time|_age|_interval)$'
   AND a.atttypid = 'float8'::regtype
   AND col_description(c.oid, a.attnum) !~ '\min ms\M'
 ORDER BY c.relname, a.attnum;
