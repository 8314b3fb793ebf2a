-- The record of a matter: what the reads answer from. Every row belongs to one matter, says where it comes from and when that was true;
-- how far it was checked is computed when it is read and stored nowhere.
CREATE SCHEMA record;

-- The matters that the running transaction may see. A transaction that names none sees none.
CREATE FUNCTION record.visible_cases() RETURNS uuid[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(string_to_array(nullif(current_setting('substrate.case_ids', true), ''), ',')::uuid[], '{}');

-- How two texts are compared: the same letters, whatever the typesetter did. Upper and lower case stay apart.
-- NFKC; invisible characters gone; words broken at a line end joined; straight quotes and dashes; one space.
-- ops/importers/quotes.py is its twin, and tests/db holds the two against each other.
CREATE FUNCTION record.folded(value text, broken_word text, joined text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(regexp_replace(
  translate(
    regexp_replace(
      regexp_replace(normalize(value, NFKC), '[\u200b\u200c\u200d\u2060\ufeff]', '', 'g'),
      broken_word, joined, 'g'),
    U&'\2018\2019\201A\201B\2032\02BC`\201C\201D\201E\201F\2010\2012\2013\2014\2015\2212\00AD',
    $$'''''''""""------$$),
  '[ \t\n\v\f\r\u0085\u1680\u2028\u2029]+', ' ', 'g'), ' ');

-- A hyphen at a line end before a small letter belongs to the typesetter.
CREATE FUNCTION record.normalize(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN record.folded(value, '([A-Za-z])[-\u00ad\u2010][ \t]*(?:\r\n|\r|\n)[ \t]*(?=[a-z])', '\1');

-- The other reading of a hyphen at a line end: it belongs to the word.
CREATE FUNCTION record.normalize_hyphenated(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN record.folded(value, '([A-Za-z0-9])[-\u2010][ \t]*(?:\r\n|\r|\n)[ \t]*(?=[A-Za-z0-9])', '\1-');

-- Takes the line numbers off a passage that was copied out of a numbered page.
CREATE FUNCTION record.unnumbered(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN value ~ '[\r\n][ \t]*[0-9]{1,2}[ \t]' THEN regexp_replace(value, '(^|[\r\n])[ \t]*[0-9]{1,2}(?=[ \t\r\n]|$)', '\1', 'g')
  ELSE value
END;

-- Whether words occur in a text as whole words: "March 1" does not occur in "March 19".
CREATE FUNCTION record.occurs(words text, whole text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  size int := length(words);
  opens boolean := left(words, 1) ~ '[A-Za-z0-9]';
  closes boolean := right(words, 1) ~ '[A-Za-z0-9]';
  rest text := whole;
  before text := '';
  found int;
BEGIN
  IF words = '' THEN
    RETURN false;
  END IF;
  LOOP
    found := strpos(rest, words);
    IF found = 0 OR found IS NULL THEN
      RETURN false;
    END IF;
    IF found > 1 THEN
      before := substr(rest, found - 1, 1);
    END IF;
    IF NOT (opens AND before ~ '[A-Za-z0-9]') AND NOT (closes AND substr(rest, found + size, 1) ~ '[A-Za-z0-9]') THEN
      RETURN true;
    END IF;
    before := substr(rest, found, 1);
    rest := substr(rest, found + 1);
  END LOOP;
END $$;

-- Whether a quote stands in a text: as it is, or after both are normalized, whichever way a hyphen at a line end is read.
CREATE FUNCTION record.stands_in(quote text, whole text, normalized text, numbered boolean) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF record.occurs(quote, whole) OR record.occurs(record.normalize(quote), normalized) THEN
    RETURN true;
  END IF;
  IF record.occurs(record.normalize_hyphenated(quote), record.normalize_hyphenated(whole)) THEN
    RETURN true;
  END IF;
  RETURN numbered AND record.unnumbered(quote) <> quote AND record.occurs(record.normalize(record.unnumbered(quote)), normalized);
END $$;

CREATE TABLE record.matters (
  case_id uuid PRIMARY KEY,
  caption text NOT NULL CHECK (caption <> ''),
  short_name text,
  court text NOT NULL,
  court_id text,
  docket_number text NOT NULL,
  judge text,
  nature_of_suit text,
  cause text,
  jury_demand text,
  jurisdiction text,
  status text NOT NULL CHECK (status IN ('open', 'closed')),
  date_filed date,
  date_terminated date,
  outcome text,
  reported_as text,
  provenance_id text NOT NULL,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (court, docket_number)
);

-- When each store of a matter was last refreshed from its source.
CREATE TABLE record.store_refreshes (
  case_id uuid NOT NULL REFERENCES record.matters,
  store text NOT NULL CHECK (store <> ''),
  refreshed_at timestamptz NOT NULL,
  PRIMARY KEY (case_id, store)
);
