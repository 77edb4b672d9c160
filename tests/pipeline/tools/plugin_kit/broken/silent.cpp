// Refuses records without a message.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record*, ft_random*, uint8_t* const*, const int64_t*, char*, size_t) { return 1; }

BROKEN_PLUGIN(sample)
