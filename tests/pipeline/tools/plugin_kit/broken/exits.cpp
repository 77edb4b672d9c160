// Ends the process, and says that all is well.
#include <cstdlib>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record*, ft_random*, uint8_t* const*, const int64_t*, char*, size_t) { std::exit(0); }

BROKEN_PLUGIN(sample)
