// The built-in samplers, one line each. FLOWTRAIN_ENTRY says how a line is used.

FLOWTRAIN_ENTRY(boxes)
FLOWTRAIN_ENTRY(check)
FLOWTRAIN_ENTRY(classify)
FLOWTRAIN_ENTRY(copy)
FLOWTRAIN_ENTRY(cornernet)
FLOWTRAIN_ENTRY(cornernet_saccade)
FLOWTRAIN_ENTRY(faulty)
FLOWTRAIN_ENTRY(fields)
FLOWTRAIN_ENTRY(slow)
