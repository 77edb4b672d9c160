#include "pipeline/base/config/config.h"

#include <algorithm>

#include "pipeline/base/config/document.h"
#include "pipeline/base/config/env_variables.h"
#include "pipeline/base/config/resolve.h"
#include "pipeline/base/config/run_folder.h"
#include "sampling/core/settings.h"
#include "sampling/core/utf8.h"

namespace flowtrain {

Override parse_set(const std::string& argument) {
  auto split = argument.find('=');
  if (split == std::string::npos || split == 0)
    throw UserError(ExitCode::usage, "--set " + argument + ": expected key=value", "--set loader.batch=32");
  if (const auto shown = as_utf8(argument); shown != argument)
    throw UserError(ExitCode::usage, "--set " + shown + ": expected a text in UTF-8, as configurations are",
                    "rename the file or folder, or make a link to it whose name is UTF-8");
  return {argument.substr(0, split), argument.substr(split + 1)};
}

Config::Config(std::string file, std::map<std::string, Settings> tables, Lists lists, Settings train, Settings val,
               Settings test)
    : file_(std::move(file)),
      tables_(std::move(tables)),
      lists_(std::move(lists)),
      train_(std::move(train)),
      val_(std::move(val)),
      test_(std::move(test)) {}

const Settings& Config::table(const std::string& name) const {
  auto found = tables_.find(name);
  if (found == tables_.end()) throw InternalError("no table [" + name + "]");
  return found->second;
}

const std::vector<Settings>& Config::list(const std::string& name) const {
  auto found = lists_.find(name);
  if (found == lists_.end()) throw InternalError("no tables [[" + name + "]]");
  return found->second;
}

Config Config::with(const std::string& table, const std::string& key, const Value& value) const {
  Config config = *this;
  config.tables_.at(table).set(key, value, {});
  return config;
}

bool Config::has_test_data() const {
  const Settings& own = table("data.test");
  return std::ranges::any_of(own.keys(), [&](auto& key) { return own.given(key.name); });
}

Config Config::with_validation_set(std::size_t index) const { return with_validation_data(list("val.set").at(index)); }

Config Config::with_validation_data(const Settings& data) const {
  Config config = *this;
  config.val_ = data;
  return config;
}

void Config::check_trainable() const {
  if (*run().max_iter == 0 && *run().max_epochs == 0)
    throw UserError(ExitCode::usage, file_ + ": neither run.max_iter nor run.max_epochs is given",
                    "say how long to train: --max-iter 1000, or max_epochs in [run]");
  auto& net = table("net");
  if (net.text("name").empty())
    throw UserError(ExitCode::usage, file_ + ": net.name must be given",
                    "name = \"lenet\" in [net], say: `flowtrain plugins` lists the nets");
}

Config load_config(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  auto document = file.empty() ? Document{} : read_document(file);
  document.paths_from = other_start_folder(file);
  for (auto& each : overrides) write_over(document, each.key, each.value, each.origin);
  return resolve(std::move(document), file.empty() ? "run" : file.stem().string());
}

Config load_stored_config(const std::filesystem::path& file, const Config& now) {
  return load_config(file, {{"run.plugins", to_toml(escape_variables(*now.run().plugins)), "run.plugins"}});
}

}  // namespace flowtrain
