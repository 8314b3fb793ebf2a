SELECT edition, text, of_version FROM firm.prompt_editions WHERE name = :name::text ORDER BY edition DESC LIMIT 1
