// The kinds of schedules, one line each. FLOWTRAIN_ENTRY decides the use of a line.

FLOWTRAIN_ENTRY(cosine)
FLOWTRAIN_ENTRY(cosine_restarts)
FLOWTRAIN_ENTRY(exponential)
FLOWTRAIN_ENTRY(inverse_sqrt)
FLOWTRAIN_ENTRY(multi_step)
FLOWTRAIN_ENTRY(one_cycle)
FLOWTRAIN_ENTRY(plateau)
FLOWTRAIN_ENTRY(poly)
FLOWTRAIN_ENTRY(step)
FLOWTRAIN_ENTRY(warmup)
FLOWTRAIN_ENTRY(wsd)
