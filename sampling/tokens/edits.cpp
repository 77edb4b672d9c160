#include "sampling/tokens/edits.h"

#include <utility>

#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

// Calls use(begin, end, code) for each character.
template <class Use>
void for_each_character(std::string_view text, Use use) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = unicode::character_at(text, at);
    use(at, at + bytes, code);
    at += bytes;
  }
}

std::vector<std::string_view> trimmed_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  std::size_t kept = 0;  // up to the last one that is not white
  for_each_character(text, [&](std::size_t begin, std::size_t end, char32_t code) {
    const bool white = unicode::is_white(code);
    if (white && characters.empty()) return;
    characters.push_back(text.substr(begin, end - begin));
    if (!white) kept = characters.size();
  });
  characters.resize(kept);
  return characters;
}

using Items = std::span<const std::string_view>;

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t first = text.npos, last = 0;  // the word so far
  std::size_t blanks = 0;                   // white characters behind it, and the last of them
  char32_t blank = 0;
  for_each_character(text, [&](std::size_t begin, std::size_t end, char32_t code) {
    if (unicode::is_white(code)) {
      ++blanks;
      blank = code;
      return;
    }
    if (first != text.npos && (blanks > 1 || (blanks == 1 && blank == ' '))) {
      words.push_back(text.substr(first, last - first));
      first = text.npos;
    }
    if (first == text.npos) first = begin;
    last = end;
    blanks = 0;
  });
  if (first != text.npos) words.push_back(text.substr(first, last - first));
  return words;
}

EditCount word_edits(std::string_view reference, std::string_view hypothesis) {
  return count_edits(Items(words_of(reference)), Items(words_of(hypothesis)));
}

EditCount character_edits(std::string_view reference, std::string_view hypothesis) {
  return count_edits(Items(trimmed_characters(reference)), Items(trimmed_characters(hypothesis)));
}

std::string marked_edits(std::string_view reference, std::string_view hypothesis) {
  constexpr std::size_t most_cells = std::size_t{1} << 22;
  // A replaced word costs a little more than another edit, so that of equally short alignments more words are equal.
  constexpr std::uint64_t edit = std::uint64_t{1} << 32, replaced = edit + 1;
  const auto truth = words_of(reference), found = words_of(hypothesis);
  const std::size_t width = found.size() + 1;
  if ((truth.size() + 1) * width > most_cells) return {};
  std::vector<std::uint64_t> costs((truth.size() + 1) * width);  // [i * width + j]: the first i and the first j words
  const auto diagonal = [&](std::size_t i, std::size_t j) {
    return costs[(i - 1) * width + j - 1] + (truth[i - 1] == found[j - 1] ? 0 : replaced);
  };
  for (std::size_t i = 0; i <= truth.size(); ++i)
    for (std::size_t j = 0; j < width; ++j)
      costs[i * width + j] =
          i == 0 || j == 0
              ? (i + j) * edit
              : std::min({diagonal(i, j), costs[(i - 1) * width + j] + edit, costs[i * width + j - 1] + edit});
  std::vector<std::string> parts;  // the last word comes first
  const auto left_out = [](std::string_view word) { return "[-" + std::string(word) + "-]"; };
  const auto put_in = [](std::string_view word) { return "{+" + std::string(word) + "+}"; };
  for (std::size_t i = truth.size(), j = found.size(); i > 0 || j > 0;) {
    const std::uint64_t here = costs[i * width + j];
    if (i > 0 && j > 0 && diagonal(i, j) == here) {
      --i, --j;
      parts.push_back(truth[i] == found[j] ? std::string(truth[i]) : left_out(truth[i]) + put_in(found[j]));
    } else if (i > 0 && costs[(i - 1) * width + j] + edit == here) {
      parts.push_back(left_out(truth[--i]));
    } else {
      parts.push_back(put_in(found[--j]));
    }
  }
  std::string line;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) line += (line.empty() ? "" : " ") + *part;
  return line;
}

Transcript compared(std::string reference, std::string hypothesis) {
  const EditCount words = word_edits(reference, hypothesis), characters = character_edits(reference, hypothesis);
  return {std::move(reference), std::move(hypothesis), words, characters};
}

}  // namespace flowtrain
