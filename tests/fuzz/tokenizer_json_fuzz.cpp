#include "tests/fuzz/support/tokenizer_fuzz.h"

FUZZ_TARGET(tokenizer_json) {
  flowtrain::fuzz::try_tokenizer({reinterpret_cast<const char*>(input.data()), input.size()}, "tokenizer_json");
}
