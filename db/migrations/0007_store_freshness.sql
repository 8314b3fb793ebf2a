-- How many rows a store holds for the matters in view, how new they are and when it was last filled. Runs with the caller's rights, so row
-- security and missing grants apply as they do to a read.
CREATE FUNCTION record.store_freshness(p_store text, OUT row_count int, OUT newest_as_of timestamptz, OUT last_refresh timestamptz)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  EXECUTE format('SELECT count(*)::int, max(as_of) FROM record.%I', p_store) INTO row_count, newest_as_of;
  SELECT max(r.refreshed_at) INTO last_refresh FROM record.store_refreshes r WHERE r.store = p_store;
END $$;
