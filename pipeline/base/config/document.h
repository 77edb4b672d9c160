#pragma once
// What configuration files and flags say, before anything is known about keys: dotted names, values and where each was
// written. The only door to TOML.

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
  /// Which source wrote it: files count up in the order they are merged, the command line comes last.
  int layer = 0;
  /// The bare text, where the command line wrote it: a key of kind text takes it as it is ("--set name=2024").
  std::optional<std::string> text = {};
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
  std::string file;  ///< the file that was asked for, for mistakes that have no line: what is not there
  std::map<std::string, Written> values;
  std::map<std::string, Origin> tables;
  std::map<std::string, TableList> lists;
  int layers = 0;
  /// Where relative paths of `file` lead if there is something: the folder that its run was started in, where `file` is
  /// a run's and that folder is not the current one. Empty: they are used as they are.
  std::filesystem::path paths_from = {};
};

/// Reads a TOML file, after the files that its `base = ["other.toml", …]` names (relative to itself), and theirs.
/// Throws UserError(usage): missing or oversized files, syntax (file:line:column), circles, values of unusable types.
Document read_document(const std::filesystem::path& file);

/// Takes out all that stands in the table or list `name`, and itself.
void erase_table(Document& document, const std::string& name);

/// Writes `key = text` over the document, in layer `document.layers`. `text` is taken as a TOML value ("3", "[1, 2]",
/// "{length = 5}"); where it is none, as the text itself.
void write_over(Document& document, const std::string& key, const std::string& text, const std::string& origin);

}  // namespace flowtrain
