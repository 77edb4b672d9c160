#pragma once
// The fuzz target of the files of tokenizers: what can be opened encodes and decodes.

#include <string>
#include <string_view>

#include "sampling/tokens/tokenizer.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace flowtrain::fuzz {

/// Opens the bytes of a file, which may be refused, and takes a text to ids and back.
inline void try_tokenizer(std::string_view bytes, const char* name) {
  const auto tokenizer = parse_tokenizer(bytes, name);
  const std::string text = "It's a text\n\t of <s> caf\u00e9 \u4e2d 123 \xff[SEP]";
  const auto ids = tokenizer->encode(text, {.add_special = true, .special_text = true});
  for (const auto id : ids) require(id < tokenizer->vocabulary_size(), "an id is of the vocabulary");
  TextStream stream(*tokenizer);
  std::string all;
  for (const auto id : ids) all += stream.push(id);
  all += stream.finish();
  require(all == tokenizer->decode(ids), "a stream and a text are the same");
}

}  // namespace flowtrain::fuzz
