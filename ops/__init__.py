"""Operator commands: the one-machine stack, migrations, keys, people, and small tools around them."""
