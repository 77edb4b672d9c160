#pragma once
// Byte-pair encoding from the left: the longest token that may stand behind the last one, and a step back where none
// may. A sequence of tokens is the encoding of its text exactly if that holds for each token and each two neighbours,
// as merges within two neighbours do not depend on what stands beside them (github.com/github/rust-gems, crate bpe).

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sampling/tokens/word_model.h"

namespace flowtrain {

/// The tokens of a model by the merges that make them.
class PairScan {
 public:
  /// Reads a model of bytes. Returns null for one whose tokens are not made by merges of growing ranks, which learned
  /// vocabularies never have.
  static std::shared_ptr<const PairScan> of(const PairModel& model);

  /// Appends the ids of a word.
  void encode(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const;

 private:
  struct Token {
    std::uint32_t left = no_token, right = no_token;  ///< the tokens of its last merge
    std::uint32_t time = no_token;                    ///< rank of that merge + 1; 0: a byte; no_token: never made
    std::uint32_t shorter = no_token;                 ///< the longest token that it begins with
    std::uint32_t bytes = 0;
  };
  explicit PairScan(const PairModel& model);
  bool is_ordered() const;
  /// Returns the bit of a pair in filter_.
  std::size_t place_of(std::uint64_t key) const { return key * 0x9e3779b97f4a7c15 >> shift_; }
  bool stay_apart(std::uint32_t left, std::uint32_t right, std::uint32_t limit) const;

  const PairModel& model_;
  std::vector<Token> tokens_;  ///< by id
  ByteTree tree_;
  std::vector<std::uint64_t> filter_;  ///< bits, set for pairs that merge and for few others: most look-ups end here
  unsigned shift_ = 0;
};

}  // namespace flowtrain
