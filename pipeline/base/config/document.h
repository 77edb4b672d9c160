#pragma once
// The contents of configuration files and flags, before anything is known about keys: dotted names, values, and where
// each was written. No other file uses TOML.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "sampling/core/settings.h"

namespace flowtrain {

/// A value as it was written.
struct Written {
  Value value;
  Origin origin;
  /// The source that wrote it: files count up in the order in which they are merged, and the command line is last.
  int layer = 0;
  /// The bare text, if the command line wrote it: a key of kind text takes it unchanged ("--set name=2024").
  std::optional<std::string> text = {};
  /// Says that the line ends in "# default", as a run's config.toml has it behind what nobody gave.
  bool marked_default = false;
};

/// A table that was written several times, [[schedule]]; its entries are the tables "schedule.0", "schedule.1" …
struct TableList {
  Origin origin;
  int layer = 0;
  std::size_t size = 0;
};

/// Values and tables by dotted name ("loader.batch", "data.train"); a later layer replaces values of an earlier one,
/// and a list of tables as a whole.
struct Document {
  std::string file;  ///< the requested file, for mistakes that have no line, such as a missing key
  std::map<std::string, Written> values;
  std::map<std::string, Origin> tables;
  std::map<std::string, TableList> lists;
  int layers = 0;
  /// The folder in which the run of `file` was started, if that is not the current one: relative paths of `file` lead
  /// there if that path exists. Empty: they are used unchanged.
  std::filesystem::path paths_from = {};
};

/// Reads a TOML file after the files that its `base = ["other.toml", …]` names (relative to itself), and their bases.
/// Throws UserError(usage): missing or oversized files, syntax (file:line:column), circles, values of unusable types.
Document read_document(const std::filesystem::path& file);

/// Removes the table or list `name` with all that it holds.
void erase_table(Document& document, const std::string& name);

/// Writes `key = text` over the document, in layer `document.layers`. `text` is taken as a TOML value ("3", "[1, 2]",
/// "{length = 5}"), or as the text itself if it is none.
void write_over(Document& document, const std::string& key, const std::string& text, const std::string& origin);

}  // namespace flowtrain
