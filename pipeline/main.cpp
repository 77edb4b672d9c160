// flowtrain's entry: a table of subcommands. Each lives in a file of its own under commands/.

#include <algorithm>
#include <cstdio>
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
  const char* help;
  int (*run)(const commands::Arguments&, Interrupt&);
};

constexpr Command table[] = {
#define FLOWTRAIN_COMMAND(function, name, usage, help) {name, usage, help, commands::function},
#include "pipeline/commands/list.h"
};

void print_help() {
  std::puts(
      "flowtrain trains nets on a dataflow graph: loading, decoding and augmenting overlap with the net's step.\n");
  std::puts("usage: flowtrain COMMAND …   (flowtrain COMMAND --help says more)\n");
  for (auto& command : table) std::printf("  %-32s %s\n", command.usage, command.help);
  std::puts(
      "\n  flowtrain --version\n"
      "\nenvironment: FLOWTRAIN_TORCH  the folder of LibTorch, or of a torch package, that computes");
  std::puts(
      "\nexit codes: 0 done, 2 usage or configuration, 3 data, 4 snapshots and disks, 5 non-finite loss,\n"
      "            6 distributed: a process lost, 70 a fault of flowtrain's own,\n"
      "            130 (Ctrl-C) or 143 interrupted, after a snapshot where there was something to save");
}

// Throws UserError(usage) for a word that can be neither a command nor CONFIG.
void refuse_unknown(const std::string& word) {
  std::error_code ignored;
  if (word.starts_with("-") || word.find_first_of("./~") != word.npos || std::filesystem::exists(word, ignored)) return;
  std::vector<std::string> known{"help", "version"};
  for (auto& command : table) known.emplace_back(command.name);
  const std::string near = nearest(word, known);
  throw UserError(ExitCode::usage,
                  concat("there is no command '", word, "', and no file or folder of that name",
                         near.empty() ? "" : concat("; did you mean '", near, "'?")),
                  "`flowtrain --help` lists the commands");
}

int run(const commands::Arguments& words) {
  // Never destroyed: a signal that arrives while the process ends does not change how it ends.
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
  // Whoever started it sees how it ends.
  if (argc == 2 && argv[1] == std::string(isolation::command_word)) {
    prepare_process();
    return run_sampler_process();
  }
  return guarded_main([&] { return run({argv + 1, argv + argc}); });
}
