#pragma once
// The texts that a run's net learns from: their tokenizer, and the tokens at their ends.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "sampling/tokens/tokenizer.h"

namespace flowtrain {

/// The way from a text to the ids of a net, and back.
struct TextForm {
  std::string name = {};                            ///< the tokenizer's file, or "bytes", for messages
  std::shared_ptr<const Tokenizer> tokenizer = {};  ///< never null
  std::vector<std::uint32_t> begin = {};            ///< ids before each text
  std::vector<std::uint32_t> ends = {};             ///< ids that end a text
  std::vector<std::uint32_t> first = {};            ///< the id that stands in for an empty prompt, if there is any
  bool is_guess = false;  ///< the tokenizer of stored ids is not known, so it is that of bytes

  /// Returns the ids of a prompt, with those before each text. Names of special tokens in the prompt are these tokens.
  /// Throws SampleError for a text that cannot be encoded, and for an empty one where no token begins a text.
  std::vector<std::int64_t> encode(const std::string& prompt) const;
};

/// Returns the number of the [[field]] `tokens`, or else of the first one with a tokenizer; nothing if there is none.
std::optional<std::size_t> field_of_tokens(const Config& config);

/// Finds the form by field_of_tokens(). A field without the key uses the tokenizer that is kept beside a data set of
/// tokens, and then the key's default. `tokenizer` (may be empty) replaces the file. A text ends at the field's `end`,
/// at the tokens that the tokenizer puts there, or else at the end of packed documents, and at those that are so called
/// by convention, such as <|endoftext|> and </s>. Throws UserError: usage if no field has a tokenizer, data for a
/// tokenizer that cannot be opened.
TextForm text_form(const Config& config, const std::string& tokenizer = {});

}  // namespace flowtrain
