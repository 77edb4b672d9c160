// Reads tiktoken's rank files: a line for each token, its bytes in base64 (RFC 4648) and its rank, which is its id.
#include <algorithm>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/io/text_lines.h"
#include "sampling/tokens/byte_alphabet.h"
#include "sampling/tokens/piece_tokenizer.h"

namespace flowtrain {
namespace {

constexpr const char* hint = "use the .tiktoken file as it was published";

/// The special tokens of the published vocabularies.
std::vector<SpecialToken> specials_of(std::string_view pattern, std::uint32_t ranks) {
  if (pattern == "gpt2") return {{"<|endoftext|>", ranks}};
  if (pattern == "o200k_base") return {{"<|endoftext|>", ranks + 1}, {"<|endofprompt|>", ranks + 20}};
  if (pattern == "cl100k_base")
    return {{"<|endoftext|>", ranks + 1},
            {"<|fim_prefix|>", ranks + 2},
            {"<|fim_middle|>", ranks + 3},
            {"<|fim_suffix|>", ranks + 4},
            {"<|endofprompt|>", ranks + 20}};
  std::vector<SpecialToken> all;
  std::vector<std::string> names{"<|begin_of_text|>",
                                 "<|end_of_text|>",
                                 "<|reserved_special_token_0|>",
                                 "<|reserved_special_token_1|>",
                                 "<|finetune_right_pad_id|>",
                                 "<|step_id|>",
                                 "<|start_header_id|>",
                                 "<|end_header_id|>",
                                 "<|eom_id|>",
                                 "<|eot_id|>",
                                 "<|python_tag|>"};
  for (int number = 2; names.size() < 256; ++number) names.push_back(concat("<|reserved_special_token_", number, "|>"));
  for (auto& name : names) all.push_back({std::move(name), ranks + static_cast<std::uint32_t>(all.size())});
  return all;
}

}  // namespace

TokenizerParts read_rank_file(std::string_view bytes, const std::string& name, const std::string& pattern) {
  auto model = std::make_unique<PairModel>();
  TokenizerParts parts;
  std::size_t number = 0;
  for (const auto line : text_lines(bytes, name)) {
    ++number;
    if (line.empty()) continue;
    const auto blank = line.find(' ');
    const auto rank = parse_number<std::uint32_t>(blank == line.npos ? std::string_view() : line.substr(blank + 1));
    const auto token = from_base64(line.substr(0, std::min(blank, line.size())));
    if (!rank || *rank >= max_token_id || !token || token->empty() || token->size() > max_token_bytes)
      throw UserError(
          ExitCode::data,
          concat(name, ":", number, ": expected base64 of up to ", max_token_bytes, " bytes, a space and a rank"),
          hint);
    if (!model->vocabulary.add(*token, *rank))
      throw UserError(ExitCode::data, concat(name, ":", number, ": the token or its rank was there before"), hint);
    if (token->size() == 1) model->bytes[static_cast<unsigned char>((*token)[0])] = *rank;
    parts.put(*rank, as_utf8(*token), *token);
  }
  const auto missing = std::ranges::find(model->bytes, no_token);
  if (missing != model->bytes.end())
    throw UserError(ExitCode::data,
                    concat(name, ": the byte ", missing - model->bytes.begin(), " has no rank; all 256 must"), hint);
  model->takes_whole_words = true;
  model->merge_all(model->vocabulary, [](std::uint32_t id) { return id; });
  model->finish();
  const std::uint32_t ranks = model->vocabulary.size();
  const std::string kind = !pattern.empty()                   ? pattern
                           : ranks > 150'000                  ? "o200k_base"
                           : ranks > 49'000 && ranks < 51'000 ? "gpt2"
                                                              : "cl100k_base";
  if (std::ranges::find(pattern_names, kind) == std::end(pattern_names))
    throw UserError(ExitCode::data, concat(name, ": no pattern is called '", kind, "'"),
                    "known patterns: " + join(pattern_names));
  parts.splitter.add(rules_of_name(kind));
  for (auto& special : specials_of(kind, ranks)) {
    parts.put_special(special.name, special.id);
    parts.raw.add({.text = special.name, .id = special.id, .special = true});
  }
  if (kind == "llama3") parts.begin = {ranks};
  parts.model = std::move(model);
  return parts;
}

}  // namespace flowtrain
