// The built-in transforms, one line each. FLOWTRAIN_ENTRY says how a line is used.

FLOWTRAIN_ENTRY(array)
FLOWTRAIN_ENTRY(bytes)
FLOWTRAIN_ENTRY(image)
FLOWTRAIN_ENTRY(label)
FLOWTRAIN_ENTRY(labels)
FLOWTRAIN_ENTRY(lm)
FLOWTRAIN_ENTRY(masked_lm)
FLOWTRAIN_ENTRY(number)
FLOWTRAIN_ENTRY(pair)
FLOWTRAIN_ENTRY(tags)
FLOWTRAIN_ENTRY(tokens)
