-- Views of the machine: columns, what is true on any machine, settings.
-- Breaks when a column is renamed, moved, or changes its type, when a number
-- contradicts another, or when a reset does not start anew.
SELECT v.name AS view, a.attname AS column,
       pg_catalog.format_type(a.atttypid, a.atttypmod) AS type
  FROM unnest(ARRAY['cpu_topology', 'numa_nodes', 'numa_memory',
                    'numa_backends', 'numa_handoffs', 'cpu_sharing',
                    'run_queue', 'machine_summary', 'perf_counters'])
       WITH ORDINALITY AS v (name, n)
  JOIN pg_attribute AS a
    ON a.attrelid = ('contention_probe.' || v.name)::regclass AND a.attnum > 0
 ORDER BY v.n, a.attnum;
SELECT attname FROM pg_attribute
 WHERE attrelid = 'contention_probe.lwlocks'::regclass
   AND attname IN ('home_node', 'remote_handoffs', 'smt_handoffs')
 ORDER BY attnum;

-- CPUs and nodes.
SELECT count(*) > 0 AS cpus, bool_and(core IS NOT NULL) AS in_cores,
       bool_and(node IS NOT NULL) AS in_nodes,
       bool_and(NOT cpu = ANY (smt_siblings)) AS none_its_own_sibling
  FROM contention_probe.cpu_topology WHERE online;
SELECT count(*) > 0 AS nodes,
       bool_and(total_bytes >= free_bytes) AS free_is_part_of_total,
       bool_and(reason IS NULL OR distances IS NULL) AS reasons
  FROM contention_probe.numa_nodes;
SELECT count(*) AS "CPUs of unknown nodes" FROM contention_probe.cpu_topology AS c
 WHERE online AND NOT EXISTS (
       SELECT FROM contention_probe.numa_nodes AS n
        WHERE n.node = c.node AND c.cpu = ANY (n.cpus));

-- Memory: either it is known where it is, or why not.
SELECT contention_probe.numa_refresh() >= 0 AS refreshed;
SELECT count(DISTINCT area) > 30 AS areas,
       count(*) FILTER (WHERE (node IS NULL) = (reason IS NULL)) AS unexplained,
       count(*) FILTER (WHERE sampled_pages > pages AND method = 'exact'
                          AND node IS NULL AND reason IS NULL) AS too_many
  FROM contention_probe.numa_memory;

-- Processes.
SELECT count(*) > 0 AS processes,
       count(*) FILTER (WHERE pid = pg_backend_pid()) AS mine,
       bool_and(cpu IS NOT NULL) AS on_cpus
  FROM contention_probe.numa_backends;
SELECT backend_type, count(*) FROM contention_probe.run_queue
 WHERE backend_type IN ('postmaster', 'departed', 'total')
 GROUP BY backend_type ORDER BY backend_type COLLATE "C";
SELECT sum(voluntary_switches) FILTER (WHERE backend_type <> 'total') =
       sum(voluntary_switches) FILTER (WHERE backend_type = 'total') AS adds_up
  FROM contention_probe.run_queue;
SELECT metric, unit FROM contention_probe.machine_summary;
SELECT count(*) AS "neither value nor reason" FROM contention_probe.machine_summary
 WHERE (value IS NULL) = (reason IS NULL);

-- Nothing is opened unless it is asked for.
SELECT task_clock, reason FROM contention_probe.perf_counters
 WHERE pid = pg_backend_pid();

-- A profile: its columns; either it has samples, or it says why not.
SELECT pg_get_function_result('contention_probe.cpu_profile'::regproc),
       pg_get_function_arguments('contention_probe.cpu_profile'::regproc);
SELECT count(*) FILTER (WHERE (stack IS NULL) = (reason IS NULL)) AS unexplained
  FROM contention_probe.cpu_profile(0.05);

-- A reset.
SELECT contention_probe.reset();
SELECT count(*) AS handoffs FROM contention_probe.numa_handoffs;
SELECT value < 100 AS few_transactions FROM contention_probe.machine_summary
 WHERE metric = 'transactions';

-- Settings.
SELECT name, vartype, boot_val, unit, min_val, max_val, enumvals, context
  FROM pg_settings
 WHERE name IN ('contention_probe.machine_interval',
                'contention_probe.numa_interval',
                'contention_probe.perf_events')
 ORDER BY name;
\set VERBOSITY sqlstate
SET contention_probe.perf_events = 'everything';
SET contention_probe.numa_interval = '1s';
ALTER SYSTEM SET contention_probe.numa_interval = -1;
ALTER SYSTEM SET contention_probe.machine_interval = '2h';
SET contention_probe.perf_events = 'software';
RESET contention_probe.perf_events;
