// The built-in orders, one line each. FLOWTRAIN_ENTRY says how a line is used.

FLOWTRAIN_ENTRY(block_shuffle)
FLOWTRAIN_ENTRY(class_balanced)
FLOWTRAIN_ENTRY(sequential)
FLOWTRAIN_ENTRY(shuffle)
FLOWTRAIN_ENTRY(weighted)
