#pragma once
// Splits texts into words as the patterns of known vocabularies do, many times as fast as a regular expression.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// The rules by which known patterns differ.
struct WordRules {
  enum class Family : std::uint8_t {
    gpt2,   ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    gpt4,   ///< cl100k_base, Llama 3, Qwen 2: contractions in any case, numbers apart, newlines end a word
    gpt4o,  ///< o200k_base: words also end where a capital follows a small letter
  };
  Family family = Family::gpt2;
  std::uint8_t most_digits = 0;    ///< digits of one word; 0: any number
  bool joins_last_spaces = false;  ///< white space at the end of a text is one word even if it has newlines

  bool operator==(const WordRules&) const = default;
};

/// Returns the rules of a pattern as a tokenizer.json has it; nothing for another pattern.
std::optional<WordRules> rules_of_pattern(std::string_view pattern);
/// Returns the rules of one of tiktoken's patterns by the name of its vocabulary (pattern_names).
WordRules rules_of_name(std::string_view name);
/// Returns the pattern of that name, as Hugging Face's tokenizers take it.
std::string pattern_of_name(std::string_view name);

/// Returns the end of the word that begins at `at`, which is within the text. `classes` is unicode::classes().
std::size_t word_end(const WordRules& rules, const std::uint8_t* classes, std::string_view text, std::size_t at);

}  // namespace flowtrain
