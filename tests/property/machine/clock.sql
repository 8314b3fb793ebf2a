-- Time stands still until a rule moves it, so that the same walk comes out the same. The planner puts the last function in the place of the
-- built-in one, so that views, guards, defaults and statements all follow it.
CREATE SCHEMA test_clock;
CREATE TABLE test_clock.reading (at timestamptz NOT NULL);
INSERT INTO test_clock.reading VALUES ('epoch');
CREATE FUNCTION test_clock.now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS 'BEGIN RETURN (SELECT at FROM test_clock.reading); END';
GRANT USAGE ON SCHEMA test_clock TO PUBLIC;
CREATE OR REPLACE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT test_clock.now()';
