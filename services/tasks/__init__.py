"""Tool calls that run on their own."""
