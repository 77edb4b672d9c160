// The program's main(), with a table of subcommands. Each is in a file of its own beside this one.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/environment.h"
#include "pipeline/base/telemetry/guard.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/commands/commands.h"
#include "pipeline/engine/isolation/isolated_sampler.h"
#include "pipeline/engine/isolation/protocol.h"
#include "pipeline/engine/session/sources.h"
#include "pipeline/library/process.h"
#include "sampling/core/error.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/system/signals.h"

namespace {

using namespace flowtrain;

struct Command {
  const char* name;
  const char* usage;
  const char* group;
  const char* help;
  int (*run)(const commands::Arguments&, Interrupt&);
};

constexpr Command table[] = {
#define FLOWTRAIN_COMMAND(function, name, usage, group, help) {name, usage, group, help, commands::function},
#include "pipeline/commands/list.h"
};

void print_help() {
  std::puts(
      "flowtrain trains nets on a dataflow graph: loading, decoding and augmenting overlap with the net's step.\n");
  std::puts("usage: flowtrain COMMAND …   (flowtrain COMMAND --help lists its options)");
  const char* group = "";
  for (auto& command : table) {
    if (std::strcmp(group, command.group) != 0) std::printf("\n%s:\n", group = command.group);
    std::printf("  %-28s %s\n", command.usage, command.help);
  }
  std::puts(
      "\n  flowtrain --version\n"
      "\nenvironment: FLOWTRAIN_TORCH  the folder of LibTorch, or of a torch package, to use");
  std::puts(
      "\nexit codes: 0 done, 2 usage or configuration, 3 data, 4 snapshots and disks, 5 non-finite loss,\n"
      "            6 a distributed process was lost, 70 a bug in flowtrain,\n"
      "            130 (Ctrl-C) or 143 interrupted, after a snapshot of unsaved iterations");
}

// Throws UserError(usage) for a word that can be neither a command nor CONFIG.
void refuse_unknown(const std::string& word) {
  std::error_code ignored;
  if (word.starts_with("-") || word.find_first_of("./~") != word.npos || std::filesystem::exists(word, ignored)) return;
  std::vector<std::string> known{"help", "version"};
  for (auto& command : table) known.emplace_back(command.name);
  const std::string near = nearest(word, known);
  throw UserError(ExitCode::usage,
                  concat("there is no command, file or folder '", word, "'",
                         near.empty() ? "" : concat("; did you mean '", near, "'?")),
                  "`flowtrain --help` lists the commands");
}

int run(const commands::Arguments& words) {
  // It is never destroyed, so a signal that arrives while the process ends does not change how it ends.
  Interrupt& interrupt = *new Interrupt;
  interrupt.end_at_once();
  prepare_process();
  set_isolation(make_isolated_sampler);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return words.empty() ? static_cast<int>(ExitCode::usage) : 0;
  }
  if (words[0] == "--version" || words[0] == "version") {
    std::puts(program_version().c_str());
    return 0;
  }
  const auto command =
      std::find_if(std::begin(table), std::end(table), [&](auto& each) { return words[0] == each.name; });
  if (command == std::end(table)) {
    refuse_unknown(words[0]);
    return commands::train(words, interrupt);
  }
  return command->run({words.begin() + 1, words.end()}, interrupt);
}

}  // namespace

int main(int argc, char** argv) {
  prepare_descriptors_and_signals();
  // The process that started this one reports how it ends.
  if (argc == 2 && argv[1] == std::string(isolation::command_word)) {
    prepare_process();
    return run_sampler_process();
  }
  return guarded_main([&] { return run({argv + 1, argv + argc}); });
}
