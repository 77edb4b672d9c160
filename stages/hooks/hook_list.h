// The files of hooks, one line each. FLOWTRAIN_FILE decides the use of a line.

FLOWTRAIN_FILE(norms)
FLOWTRAIN_FILE(stop_file)
