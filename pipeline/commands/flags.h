#pragma once
// Flags that several subcommands share, and how a command line is parsed.

#include <CLI/CLI.hpp>

#include <string>

#include "pipeline/commands/commands.h"
#include "pipeline/engine/session/start.h"
#include "sampling/core/home.h"

namespace flowtrain::commands {

/// Parses; true where the command is to go on, false after --help. Throws UserError(usage) with the way to the help.
bool parse(CLI::App& app, const Arguments& arguments);

/// An option that names a file or folder: "~/" at the beginning is the home folder, also in --name=~/x, which shells
/// leave as it is.
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

/// CONFIG and the flags that stand for configuration keys. Use: ConfigFlags flags(app); parse(…); flags.start().
class ConfigFlags {
 public:
  /// `required`: a command line without CONFIG is refused.
  explicit ConfigFlags(CLI::App& app, bool required = true);
  /// The file and all changes to it, in a form that prepare_start and load_for_use take. Sets the console's level, and
  /// which GPUs this process sees.
  StartOptions start() const;

 private:
  std::string config_;
  std::vector<std::string> set_;
  std::string seed_, workers_, device_, gpus_, progress_, max_iter_;
  bool quiet_ = false, verbose_ = false;
};

}  // namespace flowtrain::commands
