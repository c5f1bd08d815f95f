/* bloomery--0.1.sql - the functions of the extension; bloomery-sql(7) describes them */
\echo Use "CREATE EXTENSION bloomery" to load this file. \quit

CREATE FUNCTION bloomery_test(name text, key text) RETURNS boolean
	LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'bloomery_test_text';
CREATE FUNCTION bloomery_test(name text, key bytea) RETURNS boolean
	LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'bloomery_test_bytea';
CREATE FUNCTION bloomery_test(name text, key bigint) RETURNS boolean
	LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'bloomery_test_number';

CREATE FUNCTION bloomery_add(name text, key text) RETURNS boolean
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_add_text';
REVOKE ALL ON FUNCTION bloomery_add(text, text) FROM PUBLIC;
CREATE FUNCTION bloomery_add(name text, key bytea) RETURNS boolean
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_add_bytea';
REVOKE ALL ON FUNCTION bloomery_add(text, bytea) FROM PUBLIC;
CREATE FUNCTION bloomery_add(name text, key bigint) RETURNS boolean
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_add_number';
REVOKE ALL ON FUNCTION bloomery_add(text, bigint) FROM PUBLIC;

CREATE FUNCTION bloomery_claim(name text, key text) RETURNS boolean
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_claim_text';
REVOKE ALL ON FUNCTION bloomery_claim(text, text) FROM PUBLIC;
CREATE FUNCTION bloomery_claim(name text, key bytea) RETURNS boolean
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_claim_bytea';
REVOKE ALL ON FUNCTION bloomery_claim(text, bytea) FROM PUBLIC;
CREATE FUNCTION bloomery_claim(name text, key bigint) RETURNS boolean
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_claim_number';
REVOKE ALL ON FUNCTION bloomery_claim(text, bigint) FROM PUBLIC;

CREATE FUNCTION bloomery_count(name text) RETURNS bigint
	LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'bloomery_count';

CREATE FUNCTION bloomery_ls(pattern text DEFAULT '*', OUT name text, OUT kind text, OUT keys bigint,
		OUT capacity bigint, OUT rate float8, OUT rate_now float8, OUT bytes bigint,
		OUT sealed boolean, OUT created timestamptz, OUT error text) RETURNS SETOF record
	LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 100 AS 'MODULE_PATHNAME', 'bloomery_ls';

CREATE FUNCTION bloomery_build_finish(internal) RETURNS bigint
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_build_finish';

CREATE FUNCTION bloomery_build_step(internal, text, text) RETURNS internal
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_build_text';
CREATE AGGREGATE bloomery_build(text, text) (SFUNC = bloomery_build_step, STYPE = internal,
	FINALFUNC = bloomery_build_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE);
REVOKE ALL ON FUNCTION bloomery_build(text, text) FROM PUBLIC;

CREATE FUNCTION bloomery_build_step(internal, text, text, float8) RETURNS internal
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_build_text';
CREATE AGGREGATE bloomery_build(text, text, float8) (SFUNC = bloomery_build_step, STYPE = internal,
	FINALFUNC = bloomery_build_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE);
REVOKE ALL ON FUNCTION bloomery_build(text, text, float8) FROM PUBLIC;

CREATE FUNCTION bloomery_build_step(internal, text, bytea) RETURNS internal
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_build_bytea';
CREATE AGGREGATE bloomery_build(text, bytea) (SFUNC = bloomery_build_step, STYPE = internal,
	FINALFUNC = bloomery_build_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE);
REVOKE ALL ON FUNCTION bloomery_build(text, bytea) FROM PUBLIC;

CREATE FUNCTION bloomery_build_step(internal, text, bytea, float8) RETURNS internal
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_build_bytea';
CREATE AGGREGATE bloomery_build(text, bytea, float8) (SFUNC = bloomery_build_step, STYPE = internal,
	FINALFUNC = bloomery_build_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE);
REVOKE ALL ON FUNCTION bloomery_build(text, bytea, float8) FROM PUBLIC;

CREATE FUNCTION bloomery_build_step(internal, text, bigint) RETURNS internal
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_build_number';
CREATE AGGREGATE bloomery_build(text, bigint) (SFUNC = bloomery_build_step, STYPE = internal,
	FINALFUNC = bloomery_build_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE);
REVOKE ALL ON FUNCTION bloomery_build(text, bigint) FROM PUBLIC;

CREATE FUNCTION bloomery_build_step(internal, text, bigint, float8) RETURNS internal
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'bloomery_build_number';
CREATE AGGREGATE bloomery_build(text, bigint, float8) (SFUNC = bloomery_build_step, STYPE = internal,
	FINALFUNC = bloomery_build_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE);
REVOKE ALL ON FUNCTION bloomery_build(text, bigint, float8) FROM PUBLIC;
