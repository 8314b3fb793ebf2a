"""approvals: where people decide."""
