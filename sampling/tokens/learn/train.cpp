#include "sampling/tokens/learn/train.h"

#include <algorithm>
#include <queue>
#include <sstream>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/tokens/byte_alphabet.h"
#include "sampling/tokens/learn/count_words.h"
#include "sampling/tokens/vocabulary.h"
#include "sampling/tokens/word_scanner.h"

namespace flowtrain {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// The bound of a token's length, that of published vocabularies: long rows of spaces become several tokens.
constexpr std::size_t longest_learned = 256;

/// The bytes in the order of their characters in GPT-2's alphabet, which is that of their ids.
std::vector<unsigned char> bytes_in_order() {
  std::vector<unsigned char> bytes(256);
  for (unsigned byte = 0; byte < 256; ++byte) bytes[byte] = static_cast<unsigned char>(byte);
  std::ranges::sort(bytes, {}, byte_character);
  return bytes;
}

/// Words as symbols, and where each pair of neighbours occurs.
class Learner {
 public:
  Learner(const std::vector<CountedWord>& words, std::uint32_t first_id) {
    std::uint32_t ids[256];
    for (const auto byte : bytes_in_order()) ids[byte] = first_id++;
    next_id_ = first_id;
    lengths_.resize(first_id, 1);
    begins_.push_back(0);
    for (const auto& word : words) {
      for (const char byte : word.text) symbols_.push_back(ids[static_cast<unsigned char>(byte)]);
      begins_.push_back(symbols_.size());
      counts_.push_back(word.count);
      ends_.push_back(symbols_.size());
    }
    for (std::uint32_t word = 0; word < counts_.size(); ++word)
      for (std::size_t at = begins_[word]; at + 1 < ends_[word]; ++at)
        change({symbols_[at], symbols_[at + 1]}, word, static_cast<std::int64_t>(counts_[word]));
    changed_.clear();
    for (const auto& place : places_) queue_.push({place.count, place.pair});
  }

  /// Merges the pair that occurs most often, at least `least` times, into a new id; returns false if there is none.
  bool step(std::int64_t least, Pair& merged) {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      Place& place = place_of(best.pair);
      if (place.count != best.count) {  // it has changed since
        if (place.count > 0) queue_.push({place.count, best.pair});
        continue;
      }
      if (best.count < least) return false;
      std::vector<std::uint32_t> words;
      words.swap(place.words);
      place.count = 0;
      std::ranges::sort(words);
      words.erase(std::unique(words.begin(), words.end()), words.end());
      for (const auto word : words) merge_in(word, best.pair);
      std::ranges::sort(changed_);
      changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
      merged = best.pair;
      lengths_.push_back(lengths_[merged.first] + lengths_[merged.second]);
      ++next_id_;
      for (const auto& pair : changed_) offer(pair);
      changed_.clear();
      return true;
    }
    return false;
  }

 private:
  struct Place {
    Pair pair;
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;
  };
  struct Candidate {
    std::int64_t count;
    Pair pair;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  Place& place_of(const Pair& pair) {
    std::uint32_t& number = numbers_[(std::uint64_t{pair.first} << 32 | pair.second) + 1];
    if (number == 0) {
      places_.push_back({pair, 0, {}});
      number = static_cast<std::uint32_t>(places_.size());
    }
    return places_[number - 1];
  }

  void change(const Pair& pair, std::uint32_t word, std::int64_t by) {
    Place& place = place_of(pair);
    place.count += by;
    if (by < 0) return;
    if (place.words.empty() || place.words.back() != word) place.words.push_back(word);
    changed_.push_back(pair);
  }

  void offer(const Pair& pair) {
    const auto count = place_of(pair).count;
    if (count > 0 && lengths_[pair.first] + lengths_[pair.second] <= longest_learned) queue_.push({count, pair});
  }

  void merge_in(std::uint32_t word, const Pair& pair) {
    const std::size_t begin = begins_[word];
    std::size_t end = ends_[word], to = begin;
    const auto count = static_cast<std::int64_t>(counts_[word]);
    for (std::size_t at = begin; at < end;) {
      if (at + 1 >= end || symbols_[at] != pair.first || symbols_[at + 1] != pair.second) {
        symbols_[to++] = symbols_[at++];
        continue;
      }
      if (to > begin) {
        change({symbols_[to - 1], pair.first}, word, -count);
        change({symbols_[to - 1], next_id_}, word, count);
      }
      if (at + 2 < end) {
        change({pair.second, symbols_[at + 2]}, word, -count);
        change({next_id_, symbols_[at + 2]}, word, count);
      }
      symbols_[to++] = next_id_;
      at += 2;
    }
    ends_[word] = to;
  }

  std::vector<std::uint32_t> symbols_;
  std::vector<std::size_t> begins_, ends_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::size_t> lengths_;  ///< bytes of the symbols
  FlatTable<std::uint32_t> numbers_;  ///< numbers of places_, from 1, by the pair
  std::vector<Place> places_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> changed_;
  std::uint32_t next_id_ = 0;
};

std::string json_text(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      quoted.append({'\\', 'u', '0', '0', digits[c >> 4 & 15], digits[c & 15]});
    else
      quoted += c;
  }
  return quoted + '"';
}

/// Throws UserError(usage) for special tokens that are empty or the same, or leave no room in the vocabulary.
void check_special(const TokenizerTraining& training) {
  const std::size_t fixed = training.special.size() + 256;
  if (training.vocabulary < fixed)
    throw UserError(ExitCode::usage,
                    concat("a vocabulary of ", training.vocabulary, " ids cannot hold 256 bytes and ",
                           training.special.size(), " special tokens"),
                    concat("learn at least ", fixed, " ids"));
  auto sorted = training.special;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end() || (!sorted.empty() && sorted[0].empty()))
    throw UserError(ExitCode::usage,
                    twice != sorted.end() && !twice->empty() ? concat("the special token '", *twice, "' is there twice")
                                                             : std::string("a special token is empty"),
                    "name each special token once");
  const auto broken = std::ranges::find_if(sorted, [](const auto& name) { return first_not_utf8(name).has_value(); });
  if (broken != sorted.end())
    throw UserError(ExitCode::usage, concat("the special token '", as_utf8(*broken), "' is not UTF-8"),
                    "a tokenizer.json holds texts in UTF-8 alone");
}

/// Returns the names of all ids. Throws UserError(usage) for a special token that is the name of another one.
std::vector<std::string> names_of(const LearnedPairs& pairs) {
  std::vector<std::string> names = pairs.special;
  for (const auto byte : bytes_in_order()) names.push_back(in_byte_alphabet(std::string(1, static_cast<char>(byte))));
  for (const auto& [left, right] : pairs.merges) names.push_back(names[left] + names[right]);
  for (const auto& special : pairs.special)
    if (std::ranges::count(names, special) > 1)
      throw UserError(ExitCode::usage, concat("the special token '", special, "' is the name of another token, too"),
                      "choose a name such as <|endoftext|>");
  return names;
}

}  // namespace

LearnedPairs learn_pairs(const std::vector<std::filesystem::path>& files, const TokenizerTraining& training) {
  check_special(training);
  const auto words = count_words(files, training);
  const auto fixed = static_cast<std::uint32_t>(training.special.size()) + 256;
  LearnedPairs learned{training.special, training.pattern, {}};
  if (words.empty())
    throw UserError(ExitCode::data, "the files hold no text to learn a vocabulary from", "name files that hold text");
  Learner learner(words, static_cast<std::uint32_t>(training.special.size()));
  for (Pair pair; learned.merges.size() < training.vocabulary - fixed &&
                  learner.step(static_cast<std::int64_t>(training.least_count), pair);)
    learned.merges.push_back(pair);
  names_of(learned);
  return learned;
}

std::string tokenizer_json(const LearnedPairs& pairs) {
  const auto names = names_of(pairs);
  std::ostringstream merges;
  for (const auto& [left, right] : pairs.merges)
    merges << (merges.tellp() > 0 ? ",\n" : "\n") << "      [" << json_text(names[left]) << ", "
           << json_text(names[right]) << "]";
  std::ostringstream out;
  out << "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [";
  for (std::size_t id = 0; id < pairs.special.size(); ++id)
    out << (id ? ",\n" : "\n") << "    {\"id\": " << id << ", \"content\": " << json_text(pairs.special[id])
        << ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true}";
  out << "\n  ],\n  \"normalizer\": null,\n  \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [\n"
      << "    {\"type\": \"Split\", \"pattern\": {\"Regex\": " << json_text(pattern_of_name(pairs.pattern))
      << "}, \"behavior\": \"Isolated\", \"invert\": false},\n"
      << "    {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}\n"
      << "  ]},\n  \"post_processor\": null,\n  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
      << "\"trim_offsets\": true, \"use_regex\": true},\n  \"model\": {\"type\": \"BPE\", \"dropout\": null, "
      << "\"unk_token\": null, \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null, \"fuse_unk\": "
      << "false, \"byte_fallback\": false, \"ignore_merges\": false,\n    \"vocab\": {";
  for (std::size_t id = 0; id < names.size(); ++id)
    out << (id ? ",\n" : "\n") << "      " << json_text(names[id]) << ": " << id;
  out << "\n    },\n    \"merges\": [" << merges.str() << "\n    ]\n  }\n}\n";
  return std::move(out).str();
}

}  // namespace flowtrain
