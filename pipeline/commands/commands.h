#pragma once
// The subcommands, one file each; list.h names them.

#include <string>
#include <vector>

namespace flowtrain {

class Interrupt;

namespace commands {

/// The words after the subcommand's name.
using Arguments = std::vector<std::string>;

/// Each returns the exit code, and throws UserError. `--help` prints and returns 0. A signal ends the process at once,
/// unless the command defers that (interrupt.h).
#define FLOWTRAIN_COMMAND(function, name, usage, help) int function(const Arguments& arguments, Interrupt& interrupt);
#include "pipeline/commands/list.h"

}  // namespace commands

}  // namespace flowtrain
