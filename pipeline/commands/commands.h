#pragma once
// The subcommands. Each is in a file of its own; list.h names them.

#include <string>
#include <vector>

namespace flowtrain {

class Interrupt;

namespace commands {

/// The words after the subcommand's name.
using Arguments = std::vector<std::string>;

/// Runs the command and returns its exit code. Throws UserError. `--help` prints the help and returns 0. A signal ends
/// the process at once, unless the command defers that (interrupt.h).
#define FLOWTRAIN_COMMAND(function, name, usage, group, help) \
  int function(const Arguments& arguments, Interrupt& interrupt);
#include "pipeline/commands/list.h"

}  // namespace commands

}  // namespace flowtrain
