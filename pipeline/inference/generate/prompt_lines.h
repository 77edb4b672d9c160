#pragma once
// Prompts as lines of files and of standard input.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace flowtrain {

/// A prompt that a user gives.
struct GivenPrompt {
  std::string text = {};
  std::optional<nlohmann::ordered_json> id = {};  ///< a value of any kind, which the answer repeats
  std::string problem = {};                       ///< the reason why the line is none; empty: it is one
};

/// Parses a line {"prompt": "Once upon", "id": 1}. It never fails: other lines have a problem.
GivenPrompt parse_prompt(const std::string& line);

/// Reads the prompts of a file, a line each: JSON objects if its name ends in .jsonl or .json, else texts. Blank lines
/// are left out. Throws UserError(data) for a file that cannot be read, or that has no other lines.
std::vector<GivenPrompt> prompts_of_file(const std::string& path);

}  // namespace flowtrain
