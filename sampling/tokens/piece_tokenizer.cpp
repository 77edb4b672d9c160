#include "sampling/tokens/piece_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
    std::ranges::sort(parts_.specials, {}, &SpecialToken::id);
  }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids, EncodeOptions options) const override {
    Scratch& scratch = scratch_of(instance_);
    if (options.add_special) ids.insert(ids.end(), parts_.begin.begin(), parts_.begin.end());
    const auto put = [&](std::uint32_t id) { ids.push_back(id); };
    const auto words = [&](std::string_view part, bool at_begin) {
      std::array<std::string_view, 64> block;
      std::size_t count = 0;
      parts_.splitter.each(part, at_begin, scratch, [&](std::string_view word) {
        block[count++] = word;
        if (count < block.size()) return;
        parts_.model->encode(block, ids, scratch);
        count = 0;
      });
      parts_.model->encode(std::span(block).first(count), ids, scratch);
    };
    const auto normalize = [&](std::string_view part) {
      const bool at_begin = part.data() == text.data() && !loses_begin(part, scratch);
      const auto normal = parts_.normalizer.apply(part, scratch.first, scratch.second);
      parts_.normalized.cut(
          normal, options.special_text,
          [&](std::string_view each) { words(each, at_begin && each.data() == normal.data()); }, put);
    };
    parts_.raw.cut(text, options.special_text, normalize, put);
    if (options.add_special) ids.insert(ids.end(), parts_.end.begin(), parts_.end.end());
  }

  void decode(std::span<const std::uint32_t> ids, std::string& text, bool special) const override {
    const std::size_t before = text.size();
    bool first = true;
    for (const auto id : ids) {
      if (id >= parts_.texts.size() || (!special && parts_.hidden[id])) continue;
      text += first && !parts_.first_texts.empty() ? parts_.first_texts[id] : parts_.texts[id];
      first = false;
    }
    if (parts_.strips_first_space && text.size() > before && text[before] == ' ') text.erase(before, 1);
  }

  std::size_t vocabulary_size() const override { return parts_.names.size(); }
  std::string token(std::uint32_t id) const override { return id < parts_.names.size() ? parts_.names[id] : ""; }
  const std::vector<SpecialToken>& special_tokens() const override { return parts_.specials; }
  std::span<const std::uint32_t> begin() const override { return parts_.begin; }
  std::span<const std::uint32_t> end() const override { return parts_.end; }
  std::vector<TemplateItem> pair_template() const override {
    return parts_.pair.empty() ? Tokenizer::pair_template() : parts_.pair;
  }

 private:
  /// Returns whether the normal form leaves out the first character, after which no text begins: a blank, or an accent.
  bool loses_begin(std::string_view part, Scratch& scratch) const {
    if (!parts_.splitter.marks_begin() || part.empty() || parts_.normalizer.empty()) return false;
    constexpr std::string_view letter = "x";
    const std::string with(parts_.normalizer.apply(concat(part.substr(0, unicode::character_at(part, 0).bytes), letter),
                                                   scratch.first, scratch.second));
    return parts_.normalizer.apply(letter, scratch.first, scratch.second) == with;
  }

  TokenizerParts parts_;
  const std::uint64_t instance_ = next_instance();
};

}  // namespace

void TokenizerParts::put(std::uint32_t id, std::string name, std::string text) {
  if (id >= names.size()) {
    names.resize(id + 1);
    texts.resize(id + 1);
    hidden.resize(id + 1);
    if (!first_texts.empty()) first_texts.resize(id + 1);
  }
  if (!first_texts.empty()) first_texts[id] = text;
  names[id] = std::move(name);
  texts[id] = std::move(text);
}

void TokenizerParts::put_special(const std::string& name, std::uint32_t id) {
  put(id, name, name);
  hidden[id] = true;
  specials.push_back({name, id});
}

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerParts parts) {
  return std::make_unique<PieceTokenizer>(std::move(parts));
}

}  // namespace flowtrain
