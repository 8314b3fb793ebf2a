"""The executor: carries out what a person decided, once, and takes no request from anybody."""
