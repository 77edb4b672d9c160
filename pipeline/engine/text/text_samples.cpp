#include "pipeline/engine/text/text_samples.h"

#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/text/terminal_text.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"

namespace flowtrain {
namespace {

std::string quoted(const std::string& text) { return terminal_text(nlohmann::json(as_utf8(text)).dump()); }

std::string markdown_of(const std::string& text) {
  std::string cell;
  for (const char c : as_utf8(text)) {
    if (c == '\n')
      cell += "<br>";
    else if (c == '&')
      cell += "&amp;";
    else if (c == '<')
      cell += "&lt;";
    else if (std::string_view("|\\`*_[]!").find(c) != std::string_view::npos)
      (cell += '\\') += c;
    else
      cell += c;
  }
  return cell;
}

}  // namespace

TextSamples::TextSamples(const Config& config, std::uint64_t seed) : val_(config.val()) {
  const auto& texts = *val_.samples;
  if (texts.empty()) return;
  try {
    form_ = text_form(config);
    for (auto& text : texts) prompts_.push_back({static_cast<std::uint32_t>(prompts_.size()), form_.encode(text)});
  } catch (const UserError& error) {
    throw val_.samples.error(error.what(), error.code(), error.hint());
  } catch (const SampleError& error) {
    throw val_.samples.error(error.what(), ExitCode::usage);
  }
  rules_.choice.temperature = *val_.sample_temperature;
  rules_.seed = seed;
  rules_.most_tokens = static_cast<std::size_t>(*val_.sample_tokens);
}

void TextSamples::check(Validator& validator) const {
  if (!any()) return;
  auto* const texts = dynamic_cast<TextValidator*>(&validator);
  if (!texts || !texts->text_model())
    throw val_.samples.error("the net cannot continue texts", ExitCode::usage,
                             "leave the key out, or choose a language model");
  check_vocabulary(*texts->text_model(), form_);
}

std::vector<TextSample> TextSamples::run(Validator& validator) const {
  TextModel& model = *dynamic_cast<TextValidator&>(validator).text_model();
  std::vector<TextSample> samples;
  try {
    for (auto& made : continue_prompts(model, form_, rules_, prompts_))
      samples.push_back({(*val_.samples)[samples.size()], std::move(made.text)});
  } catch (const UserError& error) {
    if (error.code() != ExitCode::numerics) throw;
    log_warn(concat("val.samples: ", error.what()));  // train.nonfinite decides what follows from that
  }
  return samples;
}

std::string to_line(const TextSample& sample) { return concat(quoted(sample.prompt), " -> ", quoted(sample.text)); }

std::string to_markdown(const std::vector<TextSample>& samples) {
  std::string table = "| prompt | text |\n|---|---|\n";
  for (auto& sample : samples)
    table += concat("| ", markdown_of(sample.prompt), " | ", markdown_of(sample.text), " |\n");
  return table;
}

}  // namespace flowtrain
