"""Every limit of the product, by topic; each has a test that crosses it."""

# The database server of the one-machine stack
POSTGRES_INIT_SECONDS = 60.0  # making a data folder
POSTGRES_START_SECONDS = 60.0  # from start to the first connection, recovery after a crash included
POSTGRES_STOP_SECONDS = 15.0  # a clean shutdown, before harder signals
POSTGRES_PREDECESSOR_SECONDS = 1.0  # how long a server whose owner is gone may take to notice it
