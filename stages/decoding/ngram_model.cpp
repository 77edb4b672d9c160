#include "stages/decoding/ngram_model.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <stdexcept>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/random.h"
#include "sampling/core/text.h"
#include "sampling/datasets/whole_file.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/text_lines.h"
#include "sampling/shown.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t unknown_word = hash_of_word("<unk>"), begin_of_text = hash_of_word("<s>"),
                        end_of_text = hash_of_word("</s>");
constexpr std::size_t least_line = 4;  // "0 a" and its end
constexpr double most_log = 1e6;       // a sum of such floats is finite
constexpr double no_probability = -100 * std::numbers::ln10;
constexpr const char* ngram_hint = "write it anew in the ARPA format; examples/ngram.py makes such a file of texts";

/// Makes the key of an n-gram from that of its end, by the word before it. It is never 0.
constexpr std::uint64_t longer_key(std::uint64_t end, std::uint64_t word) {
  return mix64(end * 0x9e3779b97f4a7c15 + word) | 1;
}
constexpr std::uint64_t key_of_word(std::uint64_t word) { return longer_key(0, word); }

/// Takes the next word of a line; empty at its end.
std::string_view take_word(std::string_view& line) {
  constexpr std::string_view blanks = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const auto word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

/// Reads the lines of a file.
class NgramModel::Reader {
 public:
  Reader(std::string_view text, const std::string& name, NgramModel& model) : left_(text), name_(name), model_(model) {}

  void read() {
    while (next_line() != "\\data\\")
      if (at_end_) fail("there is no line \\data\\, so this is no language model in the ARPA format");
    read_counts();
    for (order_ = 1; order_ <= counts_.size(); ++order_) read_section();
    if (line_ != "\\end\\") fail(concat("expected \\end\\ after the ", counts_.size(), "-grams"));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(ExitCode::data, concat(name_, ":", number_, ": ", what), ngram_hint);
  }

  /// Goes to the next line that is not blank; at the end of the text to an empty one.
  std::string_view next_line() {
    do {
      at_end_ = left_.empty();
      const auto end = std::min(left_.find('\n'), left_.size());
      if (!at_end_) ++number_;
      line_ = trimmed(clean_line(left_.substr(0, end), number_, name_));
      left_.remove_prefix(std::min(end + 1, left_.size()));
    } while (line_.empty() && !at_end_);
    return line_;
  }

  // "ngram 2=4711"
  void read_counts() {
    std::uint64_t all = 0;
    while (next_line().starts_with("ngram ")) {
      const auto rest = trimmed(line_.substr(6));
      const auto equals = std::min(rest.find('='), rest.size());
      const auto order = parse_number<std::size_t>(trimmed(rest.substr(0, equals)));
      const auto count = parse_number<std::uint64_t>(trimmed(rest.substr(std::min(equals + 1, rest.size()))));
      if (!order || !count) fail("expected \"ngram N=COUNT\"");
      if (*order != counts_.size() + 1) fail(concat("expected the number of ", counts_.size() + 1, "-grams"));
      if (*order > most_order) fail(concat("n-grams of more than ", most_order, " words are not supported"));
      if (*order == 1 && *count == 0) fail("a model without words");
      counts_.push_back(*count);
      all += std::min<std::uint64_t>(*count, left_.size());
      if (all > left_.size() / least_line) fail(concat("the file is too short for ", *count, " ", *order, "-grams"));
    }
    if (counts_.empty()) fail("expected \"ngram 1=COUNT\" after \\data\\");
    model_.order_ = counts_.size();
    model_.table_.resize(std::bit_ceil(std::max<std::uint64_t>(2 * all, 2)));
  }

  void read_section() {
    if (line_ != concat("\\", order_, "-grams:")) fail(concat("expected \\", order_, "-grams:"));
    for (std::uint64_t done = 0; done < counts_[order_ - 1]; ++done) {
      if (next_line().starts_with('\\') && is_heading())
        fail(concat("there are ", done, " ", order_, "-grams, but \\data\\ says ", counts_[order_ - 1]));
      if (at_end_) fail(concat("the file ends among the ", order_, "-grams"));
      read_ngram();
    }
    if (!next_line().starts_with('\\') && !at_end_)
      fail(concat("there are more than the ", counts_[order_ - 1], " ", order_, "-grams of \\data\\"));
  }
  bool is_heading() const { return line_ == "\\end\\" || line_.ends_with("-grams:"); }

  double number(std::string_view text, const char* what) const {
    const auto value = parse_number<double>(text);
    if (!value || !(std::abs(*value) <= most_log)) fail(concat("'", shown_text(text), "' is no ", what));
    return *value;
  }

  // "-1.5 the cat -0.3": a logarithm to base 10, the words, and, if longer n-grams begin so, the weight of shorter ones
  void read_ngram() {
    std::string_view rest = line_;
    const double probability = number(take_word(rest), "logarithm of a probability");
    if (probability > 0) fail(concat("the logarithm of a probability is ", probability, ", above 0"));
    std::array<std::uint64_t, most_order> words{};
    for (std::size_t i = 0; i < order_; ++i) {
      const auto word = take_word(rest);
      if (word.empty()) fail(concat("expected ", order_, " words"));
      words[i] = hash_of_word(word == "<UNK>" ? "<unk>" : word);
      if (order_ == 1) model_.words_.emplace_back(word);
      if (order_ > 1 && !model_.knows(words[i])) fail(concat("'", shown_text(word), "' is not among the 1-grams"));
    }
    std::uint64_t key = 0;
    for (std::size_t i = order_; i-- > 0;) key = longer_key(key, words[i]);
    if (model_.find(key)) fail("this n-gram is there twice");
    Entry& entry = model_.insert(key);
    entry.probability = static_cast<float>(probability * std::numbers::ln10);
    if (const auto backoff = take_word(rest); !backoff.empty())
      entry.backoff = static_cast<float>(number(backoff, "weight of shorter n-grams") * std::numbers::ln10);
    if (!trimmed(rest).empty()) fail(concat("expected ", order_, " words and two numbers"));
  }

  std::string_view left_, line_;
  const std::string& name_;
  NgramModel& model_;
  std::uint64_t number_ = 0;  // the number of the line
  bool at_end_ = false;
  std::vector<std::uint64_t> counts_;
  std::size_t order_ = 0;
};

NgramModel::NgramModel(std::string_view bytes, const std::string& name) {
  std::vector<std::byte> unpacked;
  if (bytes.starts_with("\x1f\x8b")) {
    const auto packed = std::as_bytes(std::span(bytes));
    unpacked = gunzip({packed.begin(), packed.end()}, name);
    bytes = {reinterpret_cast<const char*>(unpacked.data()), unpacked.size()};
  }
  Reader(bytes, name, *this).read();
}

NgramModel NgramModel::open(const std::string& path) {
  std::vector<std::byte> bytes;
  try {
    const auto file = Descriptor::file(path.c_str());
    read_exactly(file, 0, file.size_bytes(), bytes);
  } catch (const std::runtime_error& error) {
    throw UserError(ExitCode::data, concat("cannot read the language model '", path, "': ", error.what()),
                    "name a file in the ARPA format; examples/ngram.py makes one of texts");
  }
  return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path};
}

const NgramModel::Entry* NgramModel::find(std::uint64_t key) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = key >> 1 & mask;; at = (at + 1) & mask) {
    if (table_[at].key == key) return &table_[at];
    if (table_[at].key == 0) return nullptr;
  }
}

NgramModel::Entry& NgramModel::insert(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = key >> 1 & mask;
  while (table_[at].key != 0) at = (at + 1) & mask;
  table_[at].key = key;
  return table_[at];
}

bool NgramModel::knows(std::uint64_t word) const { return find(key_of_word(word)) != nullptr; }

NgramModel::State NgramModel::begin() const {
  State state;
  if (order_ > 1 && knows(begin_of_text)) state.words[state.length++] = begin_of_text;
  return state;
}

double NgramModel::score(State& state, std::uint64_t word) const {
  double score = no_probability;
  if (!knows(word)) word = unknown_word;
  if (const Entry* entry = find(key_of_word(word))) score = entry->probability;
  // The longest n-gram that the file has counts, and the weights of all longer beginnings without the word.
  std::uint64_t key = key_of_word(word), context = 0;
  double backoff = 0;
  for (std::size_t i = 0; i < state.length; ++i) {
    key = longer_key(key, state.words[i]);
    context = longer_key(context, state.words[i]);
    if (const Entry* entry = find(key)) {
      score = entry->probability;
      backoff = 0;
    } else if (const Entry* beginning = find(context)) {
      backoff += beginning->backoff;
    }
  }
  if (order_ > 1) {
    state.length = static_cast<std::uint8_t>(std::min<std::size_t>(state.length + 1u, order_ - 1));
    for (std::size_t i = state.length; i-- > 1;) state.words[i] = state.words[i - 1];
    state.words[0] = word;
  }
  return score + backoff;
}

double NgramModel::end(const State& state) const {
  if (!knows(end_of_text)) return 0;
  State after = state;
  return score(after, end_of_text);
}

}  // namespace flowtrain
