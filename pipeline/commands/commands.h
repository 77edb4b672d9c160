#pragma once
// The subcommands, one file each. main.cpp holds the table of them.

#include <string>
#include <vector>

namespace flowtrain {

class Interrupt;

namespace commands {

/// The words after the subcommand's name.
using Arguments = std::vector<std::string>;

/// Each returns the exit code, and throws UserError. `--help` prints and returns 0. A signal ends the process at once,
/// unless the command defers that (interrupt.h).
int train(const Arguments& arguments, Interrupt& interrupt);
int test(const Arguments& arguments, Interrupt& interrupt);
int bench(const Arguments& arguments, Interrupt& interrupt);
int replay(const Arguments& arguments, Interrupt& interrupt);
int pack(const Arguments& arguments, Interrupt& interrupt);
int graph(const Arguments& arguments, Interrupt& interrupt);
int plan(const Arguments& arguments, Interrupt& interrupt);
int lr_find(const Arguments& arguments, Interrupt& interrupt);
int hooks(const Arguments& arguments, Interrupt& interrupt);
int config(const Arguments& arguments, Interrupt& interrupt);
int metrics(const Arguments& arguments, Interrupt& interrupt);
int snapshot(const Arguments& arguments, Interrupt& interrupt);
int plugins(const Arguments& arguments, Interrupt& interrupt);
int info(const Arguments& arguments, Interrupt& interrupt);

}  // namespace commands

}  // namespace flowtrain
