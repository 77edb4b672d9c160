// The built-in orders: one line each. Included where FLOWTRAIN_ENTRY says what to do with a line.

FLOWTRAIN_ENTRY(block_shuffle)
FLOWTRAIN_ENTRY(class_balanced)
FLOWTRAIN_ENTRY(sequential)
FLOWTRAIN_ENTRY(shuffle)
FLOWTRAIN_ENTRY(weighted)
