"""Pure engines behind the reads: text and numbers in, findings out. No database, no clock, no network."""
