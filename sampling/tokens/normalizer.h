#pragma once
// Normal forms of texts before they are split: "normalizer" in a tokenizer.json.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/tokens/unicode.h"

namespace flowtrain {

/// Steps that follow each other. Each replaces `into` by a form of `text`.
class Normalizer {
 public:
  using Step = std::function<void(std::string_view text, std::string& into)>;

  void add(Step step) { steps_.push_back(std::move(step)); }
  bool empty() const { return steps_.empty(); }
  /// Returns the normal form, in one of the two texts, or the text itself.
  std::string_view apply(std::string_view text, std::string& first, std::string& second) const;

 private:
  std::vector<Step> steps_;
};

namespace normal {

Normalizer::Step form(unicode::Form form);
Normalizer::Step lower_case();
Normalizer::Step strip(bool left, bool right);
Normalizer::Step strip_accents();
Normalizer::Step prepend(std::string text);
Normalizer::Step replace(std::string text, std::string by);
Normalizer::Step replace_pattern(const std::string& pattern, std::string by);

/// The choices of "BertNormalizer".
struct Bert {
  bool cleans = true, spaces_chinese = true, strips_accents = true, lower = true;
};
Normalizer::Step bert(Bert choices);

}  // namespace normal

}  // namespace flowtrain
