#include "tests/fuzz/support/tokenizer_fuzz.h"

FUZZ_TARGET(rank_file) {
  flowtrain::fuzz::try_tokenizer({reinterpret_cast<const char*>(input.data()), input.size()}, "rank_file");
}
