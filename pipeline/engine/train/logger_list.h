// The loggers of a run, one line each, in the order in which they get reports. The first is the display.
// FLOWTRAIN_ENTRY decides the use of a line.

FLOWTRAIN_ENTRY(display)
FLOWTRAIN_ENTRY(pictures)
FLOWTRAIN_ENTRY(prometheus)
FLOWTRAIN_ENTRY(tensorboard)
