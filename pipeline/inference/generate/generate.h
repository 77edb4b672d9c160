#pragma once
// Runs `flowtrain generate`: continues prompts with a snapshot's net.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/text/continuation.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// The request of a command line.
struct GenerateRequest {
  const Config& config;  ///< the snapshot's
  std::filesystem::path snapshot;
  std::string tokenizer = {};  ///< the file in place of the run's; empty: the run's
  ContinuationRules rules = {};
  std::vector<std::string> prompts = {};
  /// A file of prompts, a line each: JSON objects with a "prompt" and perhaps an "id", if the name ends in .jsonl or
  /// .json, else texts; "-": JSON objects on standard input, each of which is answered at once.
  std::string prompts_file = {};
  bool json = false;  ///< writes JSON lines
};

/// Continues all prompts; without any, each line of standard input. Prints each prompt with its text as it is made,
/// safe for a terminal where standard output is one, or a JSON object: {"id", "prompt", "text", "tokens",
/// "finish_reason": "stop" or "length", "seconds", "tokens_per_s"}, and {"id", "error"} for a line that is no prompt.
/// Returns ExitCode::data if there was one. Throws UserError: data for a file that cannot be read or holds no prompt,
/// snapshot where standard output cannot be written, and what SnapshotTextModel, text_form() and continue_prompts()
/// throw.
ExitCode generate(const GenerateRequest& request, const MakeLearner& make);

}  // namespace flowtrain
