/* contention_probe_testkit--1.0.sql: for tests only, see testkit.h */

\echo Use "CREATE EXTENSION contention_probe_testkit" to load this file. \quit

CREATE FUNCTION tk_hold(lock text, mode text DEFAULT 'exclusive',
	ms int DEFAULT 200, pastime text DEFAULT 'sleep')
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_hold(text, text, int, text) IS
'take a lock, pass the time (sleep; latch: asleep under a wait event; spin: awake), release it; ms held';

CREATE FUNCTION tk_wait_on(lock text, mode text DEFAULT 'exclusive',
	once_held bool DEFAULT false)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_wait_on(text, text, bool) IS
'take and release a lock, once somebody holds it; ms that it took';

CREATE FUNCTION tk_acquire_many(lock text, mode text, n int)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_acquire_many(text, text, int) IS
'take and release a lock n times; ms that it took';

CREATE FUNCTION tk_is_held(lock text)
RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_is_held(text) IS
'does anybody hold the lock now?';

CREATE FUNCTION tk_chain(first text, second text)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_chain(text, text) IS
'take the first lock, then the second; ms that the second took';

CREATE FUNCTION tk_lose_wakeup(lock text, ms int DEFAULT 10000)
RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_lose_wakeup(text, int) IS
'hold a lock until somebody waits for it, and release it without waking him; whether there was somebody';

CREATE FUNCTION tk_rescue(lock text)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_rescue(text) IS
'wake who waits for a lock that nobody holds';

CREATE FUNCTION tk_dsm_create()
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_dsm_create() IS
'make the lock "dsm" in dynamic shared memory';

CREATE FUNCTION tk_dsm_drop()
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_dsm_drop() IS 'give up the lock "dsm"';

CREATE FUNCTION tk_spin_hold(ms int)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_spin_hold(int) IS
'take a spinlock, sleep, release it; ms held';

CREATE FUNCTION tk_spin_wait()
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_spin_wait() IS
'take and release that spinlock; ms that it took';

CREATE FUNCTION tk_lock_offset(lock text)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_lock_offset(text) IS
'bytes from the start of main shared memory to a lock';

CREATE FUNCTION tk_lock_tranche(lock text)
RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_lock_tranche(text) IS 'id of a lock''s tranche';

CREATE FUNCTION tk_lock_name(lock text)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_lock_name(text) IS
'what contention_probe calls a lock';

CREATE FUNCTION tk_lock_name_at(tranche int, distance bigint)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_lock_name_at(int, bigint) IS
'what contention_probe calls a lock of a tranche at a distance';

CREATE FUNCTION tk_wal_insert_lock_count()
RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_wal_insert_lock_count() IS
'WAL insertion locks that contention_probe has found';

CREATE FUNCTION tk_hook_cost(lock text, waits int, cold bool,
	OUT median_ns double precision, OUT p99_ns double precision)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_hook_cost(text, int, bool) IS
'what the hook of contention_probe costs for a wait, without the sleep';

CREATE FUNCTION tk_fail_holding(lock text)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_fail_holding(text) IS
'take a lock and throw an error';

CREATE FUNCTION tk_nest(first text, second text)
RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_nest(text, text) IS
'take two locks, release the first one first, with a failed try at each; whether all went that way';

CREATE FUNCTION tk_nest_many(n int)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_nest_many(int) IS
'hold n buffer mapping locks at once, release the first one first';


CREATE FUNCTION tk_fill_shared_memory()
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_fill_shared_memory() IS
'take all spare room of main shared memory, for good; bytes taken';

CREATE FUNCTION tk_burn(ms int)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_burn(int) IS
'use that much CPU time in the function testkit_burn_cpu; what it was in ms';

CREATE FUNCTION tk_hold_stats(relation regclass, ms int)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_hold_stats(regclass, int) IS
'hold the lock of a relation''s entry in the cumulative statistics';

CREATE FUNCTION tk_wal_record_cost(rounds int, bytes int)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_wal_record_cost(int, int) IS
'ns for a WAL record with a payload of so many bytes';

CREATE FUNCTION tk_report_cost(relation regclass, rounds int)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION tk_report_cost(regclass, int) IS
'ns for a report of the statistics of one table';

REVOKE ALL ON FUNCTION tk_wal_record_cost(int, int) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_report_cost(regclass, int) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_burn(int) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_hold_stats(regclass, int) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_fill_shared_memory() FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_hold(text, text, int, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_wait_on(text, text, bool) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_acquire_many(text, text, int) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_is_held(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_chain(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_lose_wakeup(text, int) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_rescue(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_dsm_create() FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_dsm_drop() FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_spin_hold(int) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_spin_wait() FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_lock_offset(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_lock_tranche(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_lock_name(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_lock_name_at(int, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_wal_insert_lock_count() FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_hook_cost(text, int, bool) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_fail_holding(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_nest(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION tk_nest_many(int) FROM PUBLIC;
