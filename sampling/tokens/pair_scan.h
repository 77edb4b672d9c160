#pragma once
// Byte-pair encoding from the left: the longest token that may stand behind the last one, and a step back where none
// may. A sequence of tokens is the encoding of its text exactly if that holds for each token and each two neighbours,
// as merges within two neighbours do not depend on what stands beside them (github.com/github/rust-gems, crate bpe).

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/tokens/word_model.h"

namespace flowtrain {

/// The tokens of a model by the merges that make them.
class PairScan {
 public:
  /// Reads a model of bytes. Returns null for one whose tokens are not made by merges of growing ranks, which learned
  /// vocabularies never have.
  static std::shared_ptr<const PairScan> of(const PairModel& model);

  /// Appends the ids of a word; one that is a token is not split if the model takes whole words.
  void encode(std::string_view word, std::vector<std::uint32_t>& ids, Scratch& scratch) const;

 private:
  /// The last merge of a token, in one number, as going back in time reads little else.
  struct Made {
    std::uint64_t left : 21, right : 21;  ///< the tokens that merge
    std::uint64_t time : 22;              ///< rank of the merge + 1; 0: a byte; never_made
  };
  static constexpr std::uint32_t never_made = (1u << 22) - 1;
  struct Text {
    std::uint32_t shorter = no_token;  ///< the longest token that it begins with
    std::uint32_t bytes = 0;
  };
  explicit PairScan(const PairModel& model);
  bool is_ordered() const;
  /// Returns a filter's word, and the bits there, that stand for a pair.
  std::pair<std::size_t, std::uint64_t> filter_bits(std::uint64_t key) const {
    const std::uint64_t hash = key * 0x9e3779b97f4a7c15;
    return {hash >> shift_, std::uint64_t{1} << (hash >> 36 & 63) | std::uint64_t{1} << (hash >> 42 & 63)};
  }
  bool stay_apart(std::uint32_t left, std::uint32_t right, std::uint32_t limit) const;

  const PairModel& model_;
  HugeVector<Made> made_;  ///< by id
  HugeVector<Text> texts_;
  ByteTree tree_;
  HugeVector<std::uint64_t> filter_;  ///< has the bits of pairs that make a token, and of few others
  unsigned shift_ = 0;
};

}  // namespace flowtrain
