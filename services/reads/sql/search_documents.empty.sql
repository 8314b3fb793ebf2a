SELECT CASE WHEN numnode(websearch_to_tsquery('english'::regconfig, :words::text)) = 0
         THEN 'These words are too common to search for: name one that is rarer.' END AS note
