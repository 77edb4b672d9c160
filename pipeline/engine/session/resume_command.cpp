#include "pipeline/engine/session/resume_command.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr std::array kept_flags = {"--world-size", "--rank",         "--nproc", "--dist-url",
                                   "--launcher",   "--max-restarts", "--gpus"};

std::string for_shell(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string resume_command(const std::vector<std::string>& words, const std::filesystem::path& run, int ranks) {
  // A program that uses the library has a name of its own.
  const bool is_program = !words.empty() && std::filesystem::path(words.front()).filename() == "flowtrain";
  std::string command = concat(for_shell(is_program ? words.front() : "flowtrain"), " ", for_shell(run.string()));
  const bool starts_ranks = std::ranges::count(words, "--distributed") > 0;
  if (ranks > 1 && !starts_ranks)
    return concat(command, ", in the place of the command that each rank was started with");
  if (starts_ranks) command += " --distributed";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (std::ranges::find(kept_flags, name) == kept_flags.end()) continue;
    command += " " + for_shell(words[i]);
    if (name == words[i] && i + 1 < words.size()) command += " " + for_shell(words[++i]);
  }
  return command;
}

}  // namespace flowtrain
