#pragma once
// The configuration: TOML files, their bases and the command line's changes, as checked settings. This is the public
// interface of the folder.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sampling/core/settings.h"
#include "stages/core/table_keys.h"

namespace flowtrain {

/// A change from the command line: `--set key=value`, or a flag that stands for a key ({"run.seed", "7", "--seed"}).
struct Override {
  std::string key;    ///< dotted: "loader.batch"
  std::string value;  ///< in TOML; a text may stand without quotes
  std::string origin = "--set";
};

/// Splits "loader.batch=32" at the first '='. Throws UserError(usage) where there is no key or no '='.
Override parse_set(const std::string& argument);

/// All settings of a run: complete, with defaults, each with its origin. Immutable.
class Config {
 public:
  using Lists = std::map<std::string, std::vector<Settings>>;

  /// `file`: where it was read from. `tables`: by dotted name ("" is the top level). `lists`: the tables that repeat.
  /// `train`, `val` and `test`: the complete settings of these data sets.
  Config(std::string file, std::map<std::string, Settings> tables, Lists lists, Settings train, Settings val,
         Settings test);

  /// Returns the run's name, which can be a folder's name.
  const std::string& name() const { return table("").text("name"); }
  /// Views of the tables that many read: no key of these is read by its name elsewhere.
  RunKeys run() const { return table("run"); }
  LoaderKeys loader() const { return table("loader"); }
  TrainKeys train() const { return table("train"); }
  ValKeys val() const { return table("val"); }
  SnapshotKeys snapshot() const { return table("snapshot"); }
  /// Returns another table, "lr.warmup" for example; a name that no table has is a bug. For data sets use data().
  const Settings& table(const std::string& name) const;
  /// Returns all tables of a name, such as [[schedule]], in their order. [optim] is a list of one.
  const std::vector<Settings>& list(const std::string& name) const;
  /// Returns whether a table of this name may stand several times.
  bool has_list(const std::string& name) const { return lists_.contains(name); }
  /// Returns [data] with the changes of [data.train] or [data.val].
  const Settings& data(bool training) const { return training ? train_ : val_; }
  /// Returns [data] with the changes of [data.test]; if that is empty, data(false).
  const Settings& test_data() const { return test_; }
  /// Returns whether [data.test] has keys.
  bool has_test_data() const;

  /// Returns a copy with another value of a table's key.
  Config with(const std::string& table, const std::string& key, const Value& value) const;
  /// Returns a copy with the [[val.set]] of that number in place of [data.val].
  Config with_validation_set(std::size_t index) const;
  /// Returns a copy with `data`, which is test_data() or a [[test.set]], in place of [data.val].
  Config with_validation_data(const Settings& data) const;

  /// Throws UserError(usage) unless there is a net and an end, which training needs and a loader does not.
  void check_trainable() const;

 private:
  std::string file_;
  std::map<std::string, Settings> tables_;
  Lists lists_;
  Settings train_, val_, test_;
};

/// Reads `file` (empty: none) and its bases, then applies `overrides` in their order, and checks everything that can be
/// checked without opening data. If a later source makes another choice (another data set, net, optimizer or other
/// part, run.max_iter or max_epochs, loader.batch or batch_per_rank, [lr] or [[schedule]]), the keys that an earlier
/// one wrote for the replaced choice are ignored. Relative paths in the config.toml of a run or snapshot are relative
/// to the folder in which the run was started, if they lead to something there. Throws UserError(usage), one line with
/// file:line:column or the flag at fault.
Config load_config(const std::filesystem::path& file, const std::vector<Override>& overrides = {});

/// Loads a run's stored configuration for a comparison with `now`. The plugins of `now` serve both, as the files of the
/// run may have moved.
Config load_stored_config(const std::filesystem::path& file, const Config& now);

/// Returns each key with its value and, in a comment, its origin. The text loads again to equal settings.
std::string to_toml(const Config& config);

/// A key whose value differs between two configurations.
struct Difference {
  std::string key;      ///< dotted
  std::string was, is;  ///< in TOML; "(none)" if one side does not have the key
  bool breaks = false;  ///< a run that continues with this change gives other results
};

/// Returns the differences of `now`, table by table. Keys that say how a start resumes are no part of a run and not
/// compared.
std::vector<Difference> diff(const Config& before, const Config& now);

/// Returns the values, in TOML and by dotted key, that must be equal in all processes that train together: they decide
/// the parameters bit for bit, or which collectives the processes call.
std::map<std::string, std::string> common_values(const Config& config);

/// A file, or a folder of files, on whose contents a run depends.
struct NamedFile {
  std::string key;   ///< the key that names it: "run.plugins.mine.so"
  std::string path;  ///< the value of the key
  bool breaks;       ///< a run that continues with other contents gives other results
};

/// Returns these files: plugins, a net's script or package, net.pretrain unless it is an address, weights_file,
/// decode.language_model, and the statistics, noise, reverb and tokenizer of a [[field]].
std::vector<NamedFile> files_of(const Config& config);

}  // namespace flowtrain
