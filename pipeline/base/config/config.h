#pragma once
// The configuration: TOML files, their bases and the command line's changes, as checked settings. Door of this folder.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

/// A change from the command line: `--set key=value`, or a flag that stands for a key ({"run.seed", "7", "--seed"}).
struct Override {
  std::string key;    ///< dotted: "loader.batch"
  std::string value;  ///< as TOML writes it; a text may stand without quotes
  std::string origin = "--set";
};

/// Splits "loader.batch=32" at the first '='. Throws UserError(usage) where there is no key or no '='.
Override parse_set(const std::string& argument);

/// All settings of a run: complete, with defaults, each with its origin. Immutable.
class Config {
 public:
  using Lists = std::map<std::string, std::vector<Settings>>;

  /// `file`: where it was read from. `tables` by dotted name ("" holds the top level), `lists` those that repeat;
  /// `train`, `val` and `test` are these data sets' complete settings.
  Config(std::string file, std::map<std::string, Settings> tables, Lists lists, Settings train, Settings val,
         Settings test);

  /// The run's name; usable as a folder's name.
  const std::string& name() const { return table("").text("name"); }
  /// "run", "loader", "lr.warmup" …; a name that no table has is a bug. For data sets use data().
  const Settings& table(const std::string& name) const;
  /// All of [[schedule]], say, in their order. [optim] is a list of one.
  const std::vector<Settings>& list(const std::string& name) const;
  /// Whether a table of this name may stand several times.
  bool has_list(const std::string& name) const { return lists_.contains(name); }
  /// [data] with the changes of [data.train] or [data.val].
  const Settings& data(bool training) const { return training ? train_ : val_; }
  /// [data] with the changes of [data.test]; where nothing stands there, data(false).
  const Settings& test_data() const { return test_; }
  /// Whether anything stands in [data.test].
  bool has_test_data() const;

  /// As it is, with another value of a table's key.
  Config with(const std::string& table, const std::string& key, const Value& value) const;
  /// As it is, with the [[val.set]] of that number in the place of [data.val].
  Config with_validation_set(std::size_t index) const;
  /// As it is, with `data`, test_data() or a [[test.set]], in the place of [data.val].
  Config with_validation_data(const Settings& data) const;

  /// Throws UserError(usage) unless all is said that training needs and the loader does not: a net and an end.
  void check_trainable() const;

 private:
  std::string file_;
  std::map<std::string, Settings> tables_;
  Lists lists_;
  Settings train_, val_, test_;
};

/// Reads `file` and its bases (an empty path: none; the overrides say all), then applies `overrides` in their order,
/// and checks everything that can be checked without opening data. Where a later source makes another choice (another
/// data set, net, optimizer or other part, run.max_iter or max_epochs, loader.batch or batch_per_rank, [lr] or
/// [[schedule]]), what an earlier one wrote for the choice it replaces is left aside. Relative paths in the config.toml
/// of a run or snapshot are those of the folder that the run was started in, where they lead to something there. Throws
/// UserError(usage), one line with file:line:column or the flag at fault.
Config load_config(const std::filesystem::path& file, const std::vector<Override>& overrides = {});

/// A run's stored configuration, to be compared with `now`, whose plugins serve both: the run's own files may have
/// moved since.
Config load_stored_config(const std::filesystem::path& file, const Config& now);

/// Every key with its value and, as a comment, its origin. Loads again to equal settings.
std::string to_toml(const Config& config);

/// A key whose value differs between two configurations.
struct Difference {
  std::string key;      ///< dotted
  std::string was, is;  ///< as TOML writes it; "(none)" where one side does not have the key
  bool breaks = false;  ///< going on with this change no longer gives what the run would have given
};

/// What is different in `now`, table by table. How a start resumes (run.resume, [resume]) is not part of a run and not
/// compared.
std::vector<Difference> diff(const Config& before, const Config& now);

/// What must be equal in all processes that train together, as TOML writes it, by dotted key: what decides the
/// parameters bit for bit, and what decides which collectives they call.
std::map<std::string, std::string> common_values(const Config& config);

/// A file whose contents a run is made of.
struct NamedFile {
  std::string key;   ///< that names it: "run.plugins.mine.so"
  std::string path;  ///< as it is written there
  bool breaks;       ///< going on with other contents no longer gives what the run would have given
};

/// The files that a configuration names so: plugins, a net's script or package, net.pretrain where it is no address,
/// weights_file.
std::vector<NamedFile> files_of(const Config& config);

}  // namespace flowtrain
