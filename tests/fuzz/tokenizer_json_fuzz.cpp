#include "sampling/tokens/tokenizer.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(tokenizer_json) {
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
  const auto tokenizer = flowtrain::parse_tokenizer(bytes, "tokenizer_json");
  const std::string text = "It's a text\n\t of <s> caf\u00e9 \u4e2d 123 \xff[SEP]";
  const auto ids = tokenizer->encode(text, {.add_special = true, .special_text = true});
  for (const auto id : ids) flowtrain::fuzz::require(id < tokenizer->vocabulary_size(), "an id is of the vocabulary");
  flowtrain::TextStream stream(*tokenizer);
  std::string all;
  for (const auto id : ids) all += stream.push(id);
  all += stream.finish();
  flowtrain::fuzz::require(all == tokenizer->decode(ids), "a stream and a text are the same");
}
