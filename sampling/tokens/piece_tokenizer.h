#pragma once
// A tokenizer of parts: added tokens, a normal form, a splitter, a model, and the bytes of each id.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sampling/tokens/added_tokens.h"
#include "sampling/tokens/normalizer.h"
#include "sampling/tokens/splitter.h"
#include "sampling/tokens/tokenizer.h"
#include "sampling/tokens/word_model.h"

namespace flowtrain {

/// The parts, which a reader of files fills in.
struct TokenizerParts {
  AddedTokens raw, normalized;  ///< found before and after normalizing
  Normalizer normalizer;
  Splitter splitter;
  std::unique_ptr<WordModel> model;
  std::vector<std::string> names;        ///< tokens as the file writes them, by id
  std::vector<std::string> texts;        ///< bytes of the tokens in a text, by id
  std::vector<std::string> first_texts;  ///< bytes at the beginning of a text, by id; empty: the same
  std::vector<bool> hidden;              ///< special: left out of decoded texts, by id
  std::vector<SpecialToken> specials;
  std::vector<std::uint32_t> begin, end;
  std::optional<PairForm> pair;     ///< form of pairs in the file, if it has one
  bool strips_first_space = false;  ///< a space at the beginning of a decoded text is left out

  /// Gives an id its name and text.
  void put(std::uint32_t id, std::string name, std::string text);
  /// Adds a special token, which is left out of decoded texts.
  void put_special(const std::string& name, std::uint32_t id);
};

/// Makes the tokenizer.
std::unique_ptr<Tokenizer> make_tokenizer(TokenizerParts parts);

// The readers of files. Each throws UserError(data) that begins with `name`.
TokenizerParts read_tokenizer_json(std::string_view bytes, const std::string& name);
TokenizerParts read_rank_file(std::string_view bytes, const std::string& name, const std::string& pattern);
TokenizerParts read_sentencepiece(std::string_view bytes, const std::string& name);

}  // namespace flowtrain
