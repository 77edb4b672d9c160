#pragma once
// Lets the net continue the prompts of val.samples at each validation.

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/engine/text/continuation.h"
#include "stages/core/table_keys.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// A prompt of val.samples, and how the net continues it.
struct TextSample {
  std::string prompt = {}, text = {};
};

/// The prompts of a run and the rules by which they are continued. The same numbers are drawn at each validation.
class TextSamples {
 public:
  /// Reads val.samples; `seed` is the run's. Throws UserError(usage) for a prompt that cannot be encoded, and what
  /// text_form() throws, at the key.
  TextSamples(const Config& config, std::uint64_t seed);

  bool any() const { return !prompts_.empty(); }
  /// Throws UserError(usage) at the key if the net of the validator cannot continue texts.
  void check(Validator& validator) const;
  /// Continues the prompts, between begin_validation() and end_validation().
  std::vector<TextSample> run(Validator& validator) const;

 private:
  const ValKeys val_;
  TextForm form_;
  ContinuationRules rules_;
  std::vector<Prompt> prompts_;
};

/// Returns a sample as a line: "Once upon" -> " a time", with escapes as in JSON.
std::string to_line(const TextSample& sample);
/// Returns the samples as a table in Markdown.
std::string to_markdown(const std::vector<TextSample>& samples);

}  // namespace flowtrain
