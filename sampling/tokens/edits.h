#pragma once
// Compares a text that a net wrote with the true one: edit distances (V. I. Levenshtein, 1966) of words and of
// characters, and alignments. The counts are those of jiwer 4 (github.com/jitsi/jiwer) with its default transforms.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/tokens/tokenizer.h"

namespace flowtrain {

/// The least number of insertions, deletions and substitutions that make a sequence of another one, and the length of
/// the true one.
struct EditCount {
  std::uint64_t edits = 0;
  std::uint64_t length = 0;
};

/// Counts the edits between sequences of things that can be compared, in O(reference) memory.
template <class Item>
EditCount count_edits(std::span<const Item> reference, std::span<const Item> hypothesis) {
  std::vector<std::uint64_t> row(reference.size() + 1);  // edits of the hypothesis so far and each beginning
  std::iota(row.begin(), row.end(), std::uint64_t{0});
  for (const Item& item : hypothesis) {
    std::uint64_t diagonal = row[0]++;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      const std::uint64_t replaced = diagonal + (item == reference[i] ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({replaced, diagonal + 1, row[i] + 1});
    }
  }
  return {row.back(), reference.size()};
}

/// Returns the words of a text as jiwer's default: spaces divide them, and runs of white space; a tab or another space
/// alone is a character of its word. White space at both ends is left out.
std::vector<std::string_view> words_of(std::string_view text);

/// Counts the edits of words.
EditCount word_edits(std::string_view reference, std::string_view hypothesis);
/// Counts the edits of characters (code points, spaces included) without white space at both ends. A byte that is no
/// part of UTF-8 is a character.
EditCount character_edits(std::string_view reference, std::string_view hypothesis);

/// Returns an alignment of words as one line, as `git diff --word-diff` writes it: "the [-cat-]{+cut+} sat [-down-]"
/// for a word that was replaced and one that was left out; "{+big+}" was put in. Of equally short alignments it has
/// the most equal words. It is empty for texts whose numbers of words have a product of about 2^22 or more.
std::string marked_edits(std::string_view reference, std::string_view hypothesis);

/// Returns the text of ids, of which the first negative one ends the row. Special tokens are left out.
template <class Number>
std::string text_of_ids(const Tokenizer& tokenizer, std::span<const Number> ids) {
  std::vector<std::uint32_t> own;
  for (const Number id : ids) {
    if (id < 0) break;
    own.push_back(static_cast<std::uint32_t>(id));
  }
  return tokenizer.decode(own);
}

/// The text that a net wrote for a record, the true one, and their differences.
struct Transcript {
  std::string reference = {}, hypothesis = {};
  EditCount words = {}, characters = {};
};

/// Compares two texts.
Transcript compared(std::string reference, std::string hypothesis);

}  // namespace flowtrain
