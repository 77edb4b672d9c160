#include "pipeline/engine/text/text_form.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

// The usual names of the tokens that end a text or an answer, as GPT-2, Llama, SentencePiece and chat models have them.
constexpr const char* usual_ends[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eot_id|>", "<|im_end|>"};

// Returns the tokenizer that is kept beside shards of tokens: the file `tokenizer` of any ending; empty if there is
// none. Shards of bytes have no such file.
std::string tokenizer_beside(const Settings& data) {
  if (data.text("dataset") != "tokens") return {};
  std::error_code error;
  const fs::path place = data.text("path");
  const fs::path folder = fs::is_directory(place, error) ? place : place.parent_path();
  std::set<std::string> found;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (each->path().stem() == "tokenizer") found.insert(each->path().string());
  return found.empty() ? "" : *found.begin();
}

const Settings& field_of_tokens(const Config& config) {
  const Settings* found = nullptr;
  for (auto& field : config.list("field")) {
    if (!field.has("tokenizer")) continue;
    if (!found || field.text("name") == "tokens") found = &field;
  }
  if (found) return *found;
  throw UserError(ExitCode::usage, "the run does not learn from texts: no [[field]] has a tokenizer",
                  "use a run whose field `tokens` is made from texts");
}

std::vector<std::uint32_t> ids_of(std::span<const std::uint32_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

std::vector<std::int64_t> TextForm::encode(const std::string& prompt) const {
  std::vector<std::uint32_t> ids = begin;
  tokenizer->encode(prompt, ids, {.special_text = true});
  if (ids.empty()) ids = first;
  if (ids.empty())
    throw SampleError("the prompt is empty, and the tokenizer has no token that begins a text: write a word");
  return {ids.begin(), ids.end()};
}

TextForm text_form(const Config& config, const std::string& tokenizer) {
  const Settings& field = field_of_tokens(config);
  TextForm form;
  form.name = tokenizer;
  if (form.name.empty() && !field.given("tokenizer")) form.name = tokenizer_beside(config.data(true));
  if (form.name.empty()) form.name = field.text("tokenizer");
  const bool is_rank_file = form.name.ends_with(".tiktoken");
  form.tokenizer = open_tokenizer(form.name, is_rank_file && field.has("pattern") ? field.text("pattern") : "");
  const Tokenizer& opened = *form.tokenizer;
  const auto named = [&](const char* key) {
    return field.has(key) && !field.text(key).empty() ? opened.special(field.text(key)) : std::nullopt;
  };
  const bool adds_special = field.has("add_special") && field.boolean("add_special");
  if (adds_special) form.begin = ids_of(opened.begin());
  if (const auto id = named("begin")) form.begin = {*id};
  if (adds_special) form.ends = ids_of(opened.end());
  if (const auto id = named("end")) form.ends = {*id};
  if (form.ends.empty())
    for (const char* name : usual_ends)
      if (const auto id = opened.special(name)) form.ends.push_back(*id);
  // In a stream of documents, the token that ends one stands before the next.
  const auto own = opened.begin();
  form.first = form.ends.empty() ? std::vector<std::uint32_t>() : std::vector{form.ends.front()};
  if (!own.empty()) form.first = {own.front()};
  return form;
}

}  // namespace flowtrain
