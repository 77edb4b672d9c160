// The files of detectors: one line each. Included where FLOWTRAIN_FILE says what to do with a line.

FLOWTRAIN_FILE(boxes)
FLOWTRAIN_FILE(corners)
