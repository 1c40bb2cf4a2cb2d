"""How gunicorn serves: one process with eight threads."""

import os

chdir = os.path.dirname(os.path.abspath(__file__))
workers = 1
worker_class = "gthread"
threads = 8
# By default 2 s: connections would be closed while other arms are warmed up.
keepalive = 75
# It would be a file in the home directory, one for all instances.
control_socket_disable = True
