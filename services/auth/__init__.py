"""auth: who may do what."""
