#include <cmath>

#include "stages/decoding/ngram_model.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(arpa) {
  const flowtrain::NgramModel model({reinterpret_cast<const char*>(input.data()), input.size()}, "arpa");
  auto state = model.begin();
  for (std::size_t i = 0; i < 20; ++i) {
    const std::string& word = model.words()[i * 7 % model.words().size()];
    flowtrain::fuzz::require(std::isfinite(model.score(state, flowtrain::hash_of_word(i % 5 == 4 ? "?" : word))),
                             "a score is a number");
  }
  flowtrain::fuzz::require(std::isfinite(model.end(state)), "an end has a score");
}
