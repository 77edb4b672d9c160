#include "pipeline/inference/generate/prompt_lines.h"

#include <utility>

#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/inference/predict/requests.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {
namespace {

using nlohmann::ordered_json;

// The limit of a line; parsed JSON takes many times its size.
constexpr std::size_t longest_line = 1 << 20;

// Options that other services take with each request, and the flags that set them here, for all prompts.
constexpr std::pair<const char*, const char*> flags_by_key[] = {{"max_tokens", "--max-tokens"},
                                                                {"max_new_tokens", "--max-tokens"},
                                                                {"temperature", "--temperature"},
                                                                {"top_k", "--top-k"},
                                                                {"top_p", "--top-p"},
                                                                {"min_p", "--min-p"},
                                                                {"seed", "--seed"},
                                                                {"stop", "--stop"}};

GivenPrompt no_prompt(const std::string& problem, std::optional<ordered_json> id = {}) {
  return {.id = std::move(id), .problem = problem + R"(; a request is a line as {"prompt": "Once upon", "id": 1})"};
}

}  // namespace

GivenPrompt parse_prompt(const std::string& line) {
  if (line.size() > longest_line) return no_prompt("the line is longer than 1 MiB");
  const ordered_json request = parse_json(line);
  if (!request.is_object()) return no_prompt(no_object(line));
  const auto prompt = request.find("prompt");
  const auto id = id_of(request);
  if (const auto problem = problem_of(id); !problem.empty()) return no_prompt(problem);
  if (prompt == request.end() || !prompt->is_string()) return no_prompt("it has no \"prompt\" with a text", id);
  for (const auto& [key, flag] : flags_by_key)
    if (request.contains(key))
      return {.id = id,
              .problem = concat("\"", key, "\" cannot be set by a line; the flag ", flag, " sets it for all")};
  return {.text = prompt->get<std::string>(), .id = id};
}

std::vector<GivenPrompt> prompts_of_file(const std::string& path) {
  const bool is_json = path.ends_with(".jsonl") || path.ends_with(".json");
  std::vector<GivenPrompt> prompts;
  for (auto& line : read_text_lines(path)) {
    if (trimmed(line).empty()) continue;
    prompts.push_back(is_json ? parse_prompt(line) : GivenPrompt{.text = line});
  }
  if (prompts.empty()) throw UserError(ExitCode::data, path + ": there is no prompt in it", "write a prompt a line");
  return prompts;
}

}  // namespace flowtrain
