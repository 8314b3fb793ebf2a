-- How many rows a store holds for the matters in view, how old and how new they are, and when it was last filled. Runs with the caller's rights,
-- so row security and missing grants apply as they do to a read.
CREATE FUNCTION record.store_freshness(
  p_store text, OUT row_count int, OUT oldest_as_of timestamptz, OUT newest_as_of timestamptz, OUT last_refresh timestamptz
) LANGUAGE plpgsql STABLE AS $$
BEGIN
  -- One row without a date makes the oldest unknown: it could be older than all the others.
  EXECUTE format('SELECT count(*)::int, CASE WHEN bool_and(as_of IS NOT NULL) THEN min(as_of) END, max(as_of) FROM record.%I', p_store)
    INTO row_count, oldest_as_of, newest_as_of;
  SELECT max(r.refreshed_at) INTO last_refresh FROM record.store_refreshes r WHERE r.store = p_store;
END $$;
