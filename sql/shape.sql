-- Columns of the views: users and tools rely on their names, order and types.
-- Breaks when a column is renamed, moved, or changes its type.  Each view has
-- a function of its own name with the same columns.
SELECT v.name AS view, a.attname AS column,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type
  FROM unnest(ARRAY['status', 'hooks', 'waits', 'wait_histogram',
                    'backend_waits', 'query_waits', 'backends', 'history',
                    'profile']) WITH ORDINALITY AS v (name, n)
  JOIN pg_attribute AS a
    ON a.attrelid = ('contention_probe.' || v.name)::regclass AND a.attnum > 0
 ORDER BY v.n, a.attnum;

SELECT c.relname AS "view without a function of the same columns"
  FROM pg_class AS c
 WHERE c.relnamespace = 'contention_probe'::regnamespace AND c.relkind = 'v'
   AND NOT EXISTS (
       SELECT FROM pg_proc AS p
        WHERE p.pronamespace = c.relnamespace AND p.proname = c.relname
          AND p.proargnames = (SELECT array_agg(a.attname::text ORDER BY a.attnum)
                                 FROM pg_attribute AS a
                                WHERE a.attrelid = c.oid AND a.attnum > 0)
          AND p.proallargtypes = (SELECT array_agg(a.atttypid ORDER BY a.attnum)
                                    FROM pg_attribute AS a
                                   WHERE a.attrelid = c.oid AND a.attnum > 0))
 ORDER BY 1;

-- Nothing may be evaluated early, or in a worker that has no right to look.
SELECT p.proname, p.provolatile, p.proparallel, p.proisstrict
  FROM pg_proc AS p
 WHERE p.pronamespace = 'contention_probe'::regnamespace
   AND (p.provolatile <> 'v' OR p.proparallel = 's')
 ORDER BY 1;
