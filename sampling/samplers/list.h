// The built-in samplers: one line each. Included where FLOWTRAIN_ENTRY says what to do with a line.

FLOWTRAIN_ENTRY(check)
FLOWTRAIN_ENTRY(classify)
FLOWTRAIN_ENTRY(copy)
FLOWTRAIN_ENTRY(cornernet)
FLOWTRAIN_ENTRY(cornernet_saccade)
FLOWTRAIN_ENTRY(faulty)
FLOWTRAIN_ENTRY(slow)
