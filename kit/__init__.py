"""What every program needs, and nothing about law."""
