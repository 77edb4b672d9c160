#pragma once
// The subcommands, one file each. main.cpp holds the table of them.

#include <string>
#include <vector>

namespace flowtrain::commands {

/// The words after the subcommand's name.
using Arguments = std::vector<std::string>;

/// Each returns the exit code, and throws UserError. `--help` prints and returns 0.
int train(const Arguments& arguments);
int test(const Arguments& arguments);
int bench(const Arguments& arguments);
int replay(const Arguments& arguments);
int pack(const Arguments& arguments);
int graph(const Arguments& arguments);
int plan(const Arguments& arguments);
int lr_find(const Arguments& arguments);
int hooks(const Arguments& arguments);
int config(const Arguments& arguments);
int metrics(const Arguments& arguments);
int snapshot(const Arguments& arguments);
int selftest(const Arguments& arguments);
int plugins(const Arguments& arguments);
int info(const Arguments& arguments);

}  // namespace flowtrain::commands
