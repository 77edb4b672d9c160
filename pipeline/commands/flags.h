#pragma once
// Flags that several subcommands share, and how a command line is parsed.

#include <CLI/CLI.hpp>

#include <string>

#include "pipeline/commands/commands.h"
#include "pipeline/engine/session/start.h"
#include "sampling/core/home.h"

namespace flowtrain::commands {

/// Parses the arguments. Returns false after --help, which ends the command. Throws UserError(usage), with a hint to
/// --help.
bool parse(CLI::App& app, const Arguments& arguments);

/// Adds an option for a file or folder. A leading "~/" is the home folder, also in --name=~/x, unlike in shells.
template <class Path>
CLI::Option* add_path(CLI::App& app, const std::string& name, Path& path, const std::string& help) {
  return app.add_option(name, path, help)
      ->transform(CLI::Validator(
          [](std::string& given) {
            given = expand_home(given);
            return std::string();
          },
          ""));
}

/// Refuses numbers that are not above 0.
CLI::Validator above_zero();
/// Refuses 0 and below: "iterations count from 1".
CLI::Validator counts_from_one(const std::string& what);
/// Refuses numbers outside of a range, and NaN, which CLI::Range lets pass.
CLI::Validator within(double least, double most);

/// Holds CONFIG and the flags that set configuration keys. Use: ConfigFlags flags(app); parse(…); flags.start().
class ConfigFlags {
 public:
  /// Adds the flags to `app`. If `required`, a command line without CONFIG is refused.
  explicit ConfigFlags(CLI::App& app, bool required = true);
  /// Returns the file and its changes, for prepare_start() and load_for_use(). Sets the console's level and the GPUs.
  StartOptions start() const;

 private:
  std::string config_;
  std::vector<std::string> set_;
  std::string seed_, workers_, device_, gpus_, progress_, max_iter_;
  bool quiet_ = false, verbose_ = false;
};

}  // namespace flowtrain::commands
