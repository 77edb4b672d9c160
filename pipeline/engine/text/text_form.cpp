#include "pipeline/engine/text/text_form.h"

#include <algorithm>

#include "pipeline/engine/text/kept_tokenizer.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

// The usual names of the tokens that end an answer, beside those that end a text, as Gemma and chat models have them.
constexpr const char* usual_answer_ends[] = {"<eos>", "<|eot_id|>", "<|im_end|>"};

std::vector<std::uint32_t> ids_of(std::span<const std::uint32_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

std::optional<std::size_t> field_of_tokens(const Config& config) {
  const auto& fields = config.list("field");
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].has("tokenizer") && (!found || fields[i].text("name") == "tokens")) found = i;
  return found;
}

std::vector<std::int64_t> TextForm::encode(const std::string& prompt) const {
  std::vector<std::uint32_t> ids = begin;
  tokenizer->encode(prompt, ids, {.special_text = true});
  if (ids.empty()) ids = first;
  if (ids.empty())
    throw SampleError("the prompt is empty, and the tokenizer has no token that begins a text: write a word");
  return {ids.begin(), ids.end()};
}

TextForm text_form(const Config& config, const std::string& tokenizer) {
  const auto index = field_of_tokens(config);
  const Settings* const field = index ? &config.list("field")[*index] : nullptr;
  const auto text = [&](const char* key) { return field && field->has(key) ? field->text(key) : std::string(); };
  TextForm form;
  form.name = tokenizer;
  if (form.name.empty()) form.name = text("tokenizer");
  if (form.name.empty()) form.name = kept_tokenizer(config.data(true));
  if (form.name.empty() && !field && config.data(true).text("dataset") != "tokens")
    throw UserError(ExitCode::usage, "the run does not learn from texts: no [[field]] has a tokenizer",
                    "use a run whose field `tokens` is made from texts, or name its tokenizer");
  if (form.name.empty()) {
    form.name = "bytes";
    form.is_guess = config.data(true).text("dataset") == "tokens";
  }
  const bool takes_pattern = form.name == text("tokenizer") || form.name.ends_with(".tiktoken");
  form.tokenizer = open_tokenizer(form.name, takes_pattern ? text("pattern") : "");
  const Tokenizer& opened = *form.tokenizer;
  const auto named = [&](const char* key) { return text(key).empty() ? std::nullopt : opened.special(text(key)); };
  const bool adds_special = field && field->has("add_special") && field->boolean("add_special");
  if (adds_special) form.begin = ids_of(opened.begin());
  if (const auto id = named("begin")) form.begin = {*id};
  if (adds_special) form.ends = ids_of(opened.end());
  if (const auto id = named("end")) form.ends = {*id};
  if (form.ends.empty()) {
    if (const auto end = kept_end(config.data(true)); end && *end < opened.vocabulary_size()) form.ends.push_back(*end);
    for (const std::span<const char* const> names :
         {std::span<const char* const>(usual_text_ends), {usual_answer_ends}})
      for (const char* name : names)
        if (const auto id = opened.special(name)) form.ends.push_back(*id);
  }
  // In a stream of documents, the token that ends one stands before the next.
  const auto own = opened.begin();
  form.first = form.ends.empty() ? std::vector<std::uint32_t>() : std::vector{form.ends.front()};
  if (!own.empty()) form.first = {own.front()};
  return form;
}

}  // namespace flowtrain
