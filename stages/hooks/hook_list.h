// The files of hooks: one line each. Included where FLOWTRAIN_FILE says what to do with a line.

FLOWTRAIN_FILE(norms)
FLOWTRAIN_FILE(stop_file)
