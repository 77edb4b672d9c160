#include "stages/decoding/ctc_decoder.h"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/tokens/tokenizer.h"

namespace flowtrain {

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

double add_logs(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == impossible ? a : a + std::log1p(std::exp(b - a));
}

bool is_blank_byte(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// Returns the class with the greatest value, of equal ones the first; the first if all are NaN.
std::size_t best_class(std::span<const float> frame) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < frame.size(); ++c)
    if (frame[c] > frame[best] || (std::isnan(frame[best]) && !std::isnan(frame[c]))) best = c;
  return best;
}

}  // namespace

/// Scores the texts of labels by a language model: weight * ln p(text) + word_bonus * number of words, as A. Hannun et
/// al., "Deep Speech", 2014, section 2.2. The model's words are the tokens themselves (a blank within a name is written
/// as U+2581), or what blanks divide in the text: decode.units. "auto" takes tokens if all words of the model are
/// tokens, and most tokens are words of the model or some word is no piece of a text, such as the token of a blank.
class CtcDecoder::TextModel {
 public:
  /// The score of a text so far, and the word that it ends with, which may go on.
  struct State {
    NgramModel::State model;
    double score = 0;
    std::uint64_t word = empty_word;
    bool in_word = false;
  };

  TextModel(const Settings& decode, const Tokenizer& tokenizer)
      : model_(NgramModel::open(decode.text("language_model"))),
        weight_(decode.real("weight")),
        bonus_(decode.real("word_bonus")) {
    const auto size = static_cast<std::uint32_t>(tokenizer.vocabulary_size());
    const std::unordered_set<std::uint64_t> special_words{hash_of_word("<s>"), hash_of_word("</s>"),
                                                          hash_of_word("<unk>"), hash_of_word("<UNK>")};
    const auto& special = tokenizer.special_tokens();
    std::unordered_set<std::uint64_t> names;
    std::bitset<256> letters;           // bytes that tokens can write
    std::size_t tokens = 0, known = 0;  // tokens that are not special, and those among them that the model knows
    bool has_marks = false;             // a word of the model is no piece of a text, such as the token of a blank
    for (std::uint32_t id = 0; id < size; ++id) {
      // A text that begins with a token may lack the blank before it, so the second of two is looked at.
      const std::string once = tokenizer.decode(std::vector{id}), twice = tokenizer.decode(std::vector{id, id});
      pieces_.push_back(twice.substr(std::min(once.size(), twice.size())));
      const std::string& piece = pieces_.back();
      const std::uint64_t name = hash_of_word(tokenizer.token(id)), text = hash_of_word(visible(piece));
      tokens_.push_back(model_.knows(name) ? name : text);
      if (piece.empty() || std::ranges::find(special, id, &SpecialToken::id) != special.end()) continue;
      for (const char byte : piece) letters.set(static_cast<unsigned char>(byte));
      names.insert({name, text});
      ++tokens;
      if (!model_.knows(tokens_.back())) continue;
      ++known;
      if (tokens_.back() != hash_of_word(trimmed(piece))) has_marks = true;
    }
    std::size_t words = 0, named = 0, written = 0;  // words that are not special; tokens and texts of tokens among them
    for (const std::string& word : model_.words()) {
      const auto hash = hash_of_word(word);
      if (special_words.contains(hash)) continue;
      ++words;
      named += names.contains(hash) ? 1 : 0;
      written +=
          std::ranges::all_of(word, [&](char byte) { return letters[static_cast<unsigned char>(byte)]; }) ? 1 : 0;
    }
    const std::string& units = decode.text("units");
    by_token_ = units == "tokens" || (units == "auto" && named == words && (2 * known > tokens || has_marks));
    if ((by_token_ ? known : written) == 0)
      throw UserError(ExitCode::data,
                      concat("'", decode.text("language_model"), "' has no word that ",
                             by_token_ ? "is a token of the label" : "the label's tokens could write"),
                      "make the model of texts that are written as the label's, in upper or lower case, or of its "
                      "tokens with decode.units = \"tokens\"");
  }

  State begin() const { return {.model = model_.begin()}; }

  /// Returns the state of a text with one more label.
  State with(const State& before, std::size_t label) const {
    State state = before;
    if (label >= pieces_.size()) return state;
    if (by_token_) {
      add(state, tokens_[label]);
      return state;
    }
    for (const char byte : pieces_[label]) {
      if (is_blank_byte(byte)) {
        end_word(state);
      } else {
        state.word = with_byte(state.word, byte);
        state.in_word = true;
      }
    }
    return state;
  }

  /// Warns once if none of the first words that were found is one of the model's.
  void compare_words(std::span<const std::int64_t> labels) const {
    if (by_token_ || compared_.load(std::memory_order_relaxed)) return;
    std::uint64_t word = empty_word;
    const auto end_word = [&] {
      if (word == empty_word) return;
      if (model_.knows(word))
        compared_ = true;
      else if (++unknown_ == most_unknown && !compared_.exchange(true))
        warn(concat("decode.language_model: none of the first ", most_unknown,
                    " words that were found is one of the model's, so it tells them from each other by their number "
                    "alone; is it of texts that are written as the labels, in upper or lower case?"));
      word = empty_word;
    };
    for (const auto label : labels)
      if (const auto at = static_cast<std::size_t>(label); at < pieces_.size())
        for (const char byte : pieces_[at]) is_blank_byte(byte) ? end_word() : void(word = with_byte(word, byte));
    end_word();
  }

  /// Returns the score of a whole text.
  double end(State state) const {
    end_word(state);
    return state.score + weight_ * model_.end(state.model);
  }

 private:
  static std::string visible(const std::string& piece) {
    std::string text;
    for (const char byte : piece) byte == ' ' ? text += "\u2581" : text += byte;
    return text;
  }
  void add(State& state, std::uint64_t word) const {
    state.score += weight_ * model_.score(state.model, word) + bonus_;
  }
  void end_word(State& state) const {
    if (!state.in_word) return;
    add(state, state.word);
    state.word = empty_word;
    state.in_word = false;
  }

  const NgramModel model_;
  const double weight_, bonus_;
  std::vector<std::string> pieces_;    // the text of each label
  std::vector<std::uint64_t> tokens_;  // the model's word of each label
  bool by_token_ = false;
  static constexpr int most_unknown = 100;
  mutable std::atomic<bool> compared_ = false;  // a word was known, or the user was warned
  mutable std::atomic<int> unknown_ = 0;        // words that the model does not know, before
};

/// Prefix beam search (A. Y. Hannun et al., "First-Pass Large Vocabulary Continuous Speech Recognition using
/// Bi-Directional Recurrent DNNs", 2014). A prefix is a node of a tree; the beam has the nodes that are followed. The
/// result depends on nothing but the row: of equal prefixes the one that was found first is better.
class CtcDecoder::Search {
 public:
  std::vector<std::int64_t> operator()(const CtcDecoder& decoder, std::span<const float> logs, std::size_t classes,
                                       std::size_t blank) {
    text_ = decoder.text_.get();
    nodes_.assign(1, Node{.text = text_ ? text_->begin() : TextModel::State(), .blank = 0});
    beam_.assign(1, 0);
    for (std::size_t at = 0; at < logs.size(); at += classes) {
      const auto frame = logs.subspan(at, classes);
      follow(frame, blank, decoder.least_log_);
      choose(decoder.beam_);
    }
    return labels_of_best();
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;

  struct Node {
    std::uint32_t parent = none, label = none;
    std::uint32_t first_child = none, next_sibling = none;
    TextModel::State text = {};
    // Logarithms of the probabilities of all paths of this prefix so far: those that end with the blank, and those that
    // end with its last label. `next_…`: the same with one more frame.
    double blank = impossible, last = impossible, next_blank = impossible, next_last = impossible;
    bool in_beam = true;
  };
  /// A prefix that may be followed: one of the beam, or one more label.
  struct Candidate {
    double score;
    std::uint32_t node;   // one of the beam, which has `label` more
    std::uint32_t label;  // the further label; none if this is the node itself
    double last;          // Node::last if there is a further label
    TextModel::State text = {};
  };

  std::uint32_t child_of(std::uint32_t node, std::uint32_t label) const {
    std::uint32_t child = nodes_[node].first_child;
    while (child != none && nodes_[child].label != label) child = nodes_[child].next_sibling;
    return child;
  }

  void follow(std::span<const float> frame, std::size_t blank, double least) {
    kept_.clear();
    const auto best = best_class(frame);
    for (std::size_t c = 0; c < frame.size(); ++c)
      if (frame[c] >= least || c == best) kept_.push_back(static_cast<std::uint32_t>(c));
    candidates_.clear();
    for (const auto each : beam_) nodes_[each].next_blank = nodes_[each].next_last = impossible;
    for (const auto each : beam_) {
      Node& node = nodes_[each];
      const double all = add_logs(node.blank, node.last);
      for (const auto c : kept_) {
        const double log = frame[c];
        if (std::isnan(log)) continue;
        if (c == blank) {
          node.next_blank = all + log;
          continue;
        }
        if (c == node.label) node.next_last = add_logs(node.next_last, node.last + log);
        // Two equal labels have a blank between them.
        const double last = (c == node.label ? node.blank : all) + log;
        if (last == impossible) continue;
        const auto child = child_of(each, c);
        if (child != none && nodes_[child].in_beam) {
          nodes_[child].next_last = add_logs(nodes_[child].next_last, last);
          continue;
        }
        Candidate longer{.score = last, .node = each, .label = c, .last = last};
        if (text_) {
          longer.text = child != none ? nodes_[child].text : text_->with(node.text, c);
          longer.score += longer.text.score;
        }
        candidates_.push_back(longer);
      }
    }
    for (const auto each : beam_) {
      const Node& node = nodes_[each];
      const double log = add_logs(node.next_blank, node.next_last);
      if (log > impossible) candidates_.push_back({log + node.text.score, each, none, 0});
    }
  }

  void choose(std::size_t most) {
    if (candidates_.empty()) return;  // a frame of NaN
    if (candidates_.size() > most) {
      const auto better = [](const Candidate& a, const Candidate& b) {
        if (a.score != b.score) return a.score > b.score;
        return std::pair(a.node, a.label) < std::pair(b.node, b.label);
      };
      std::ranges::nth_element(candidates_, candidates_.begin() + static_cast<std::ptrdiff_t>(most), better);
      candidates_.resize(most);
      std::ranges::sort(candidates_, better);
    }
    for (const auto each : beam_) nodes_[each].in_beam = false;
    beam_.clear();
    for (const auto& candidate : candidates_) {
      std::uint32_t at = candidate.node;
      if (candidate.label == none) {
        nodes_[at].blank = nodes_[at].next_blank;
        nodes_[at].last = nodes_[at].next_last;
      } else {
        at = child_of(candidate.node, candidate.label);
        if (at == none) at = add_child(candidate);
        nodes_[at].blank = impossible;
        nodes_[at].last = candidate.last;
      }
      nodes_[at].in_beam = true;
      beam_.push_back(at);
    }
  }

  std::uint32_t add_child(const Candidate& candidate) {
    const auto at = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.parent = candidate.node,
                      .label = candidate.label,
                      .next_sibling = nodes_[candidate.node].first_child,
                      .text = candidate.text});
    nodes_[candidate.node].first_child = at;
    return at;
  }

  std::vector<std::int64_t> labels_of_best() const {
    double best = impossible;
    std::uint32_t at = beam_.front();
    for (const auto each : beam_) {
      const Node& node = nodes_[each];
      const double score = add_logs(node.blank, node.last) + (text_ ? text_->end(node.text) : 0);
      if (score > best || (score == best && each < at)) best = score, at = each;
    }
    std::vector<std::int64_t> labels;
    for (; nodes_[at].parent != none; at = nodes_[at].parent) labels.push_back(nodes_[at].label);
    std::ranges::reverse(labels);
    return labels;
  }

  const TextModel* text_ = nullptr;
  std::vector<Node> nodes_;  // the first one is the empty prefix
  std::vector<std::uint32_t> beam_, kept_;
  std::vector<Candidate> candidates_;
};

CtcDecoder::CtcDecoder(const Settings& decode, const Field* label, std::int64_t blank) : blank_(blank) {
  if (decode.text("name") == "ctc_greedy") return;
  beam_ = static_cast<std::size_t>(decode.integer("beam"));
  const double prune = decode.real("prune");
  least_log_ = prune > 0 ? std::log(prune) : impossible;
  if (decode.text("language_model").empty()) return;
  if (!label || !label->tokenizer)
    throw decode.error("language_model", "the field 'label' has no tokenizer, which tells the words of its ids",
                       ExitCode::usage, "make it of texts: [[field]] name = \"label\", as = \"tokens\"");
  try {
    text_ = std::make_unique<TextModel>(decode, *label->tokenizer);
  } catch (const UserError& error) {
    throw decode.error("language_model", error.what(), error.code(), error.hint());
  }
}

CtcDecoder::~CtcDecoder() = default;

std::int64_t CtcDecoder::blank_of(std::size_t classes) const {
  const auto count = static_cast<std::int64_t>(classes), blank = blank_ < 0 ? count + blank_ : blank_;
  if (blank < 0 || blank >= count)
    throw std::invalid_argument(concat("the blank is class ", blank_, ", but the net has ", classes, " classes"));
  return blank;
}

std::vector<std::int64_t> CtcDecoder::operator()(std::span<const float> logs, std::size_t classes) const {
  const auto blank = static_cast<std::size_t>(blank_of(classes));
  if (beam_ > 0) {
    thread_local Search search;
    auto labels = search(*this, logs, classes, blank);
    if (text_) text_->compare_words(labels);
    return labels;
  }
  std::vector<std::int64_t> labels;
  for (std::size_t at = 0, before = blank; at < logs.size(); at += classes) {
    const auto best = best_class(logs.subspan(at, classes));
    if (best != before && best != blank) labels.push_back(static_cast<std::int64_t>(best));
    before = best;
  }
  return labels;
}

}  // namespace flowtrain
