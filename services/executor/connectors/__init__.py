"""Ways out of the firm that a program may take by itself. What has none here becomes a work item for a person."""
