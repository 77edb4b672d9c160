#pragma once
// The columns of a table as parts of records.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"
#include "sampling/datasets/tables/table.h"

namespace flowtrain {

/// A column of texts, paths of files or numbers, in one block of memory.
struct ManifestColumn {
  PartForm form;
  bool is_file = false;  ///< `texts` are paths
  Names texts = {};
  std::vector<std::int64_t> integers = {};
  std::vector<float> reals = {};
  std::vector<std::uint64_t> ends = {};  ///< ends of the rows' numbers; empty: each row has `each` of them
  std::uint64_t each = 0;

  /// Returns a row's numbers or text; empty if the row lacks it.
  std::span<const std::byte> bytes(std::size_t row) const;
};

/// Makes the part of a column that is neither a file nor a label, by the values that are there: i64 if all are integers
/// (JSON's true and false are 1 and 0), else f32, if all are numbers; an array of one axis if all are lists of numbers,
/// whose length is -1 if they differ; else text. Throws UserError(data), with the place, for numbers beyond f32.
ManifestColumn make_column(const Table& table, TableColumn column);

/// Refuses a column of JSON lines in which some rows are lists of numbers and others are not: as texts, the lists would
/// be read as they are written. Throws UserError(data), with the place of the first row that is no such list.
void check_number_lists(const Table& table, const TableColumn& column);

/// Makes the part of a column of paths. Throws UserError(data), with the place, for paths that lead out of the
/// manifest's folder by "..", or to servers.
ManifestColumn make_file_column(const Table& table, TableColumn column);

/// Returns whether the values look like names of files: there are some, and each has an ending.
bool looks_like_files(const TableColumn& column);

/// Returns whether a column holds paths by the key `files` of the data set `manifest`.
bool is_file_column(const TableColumn& column, const std::vector<std::string>& files);

/// Returns whether values are names of recordings, and none is one of a text, an array or a picture. A file of a format
/// that is not read is then a damaged recording.
bool looks_like_sounds(const TableColumn& column);

/// Returns whether each value is a text or an integer, as a class may be.
bool looks_like_classes(const TableColumn& column);

/// Returns the columns of a manifest that hold its classes: of one class each, and of lists; -1: none.
struct ClassColumns {
  std::ptrdiff_t label = -1, labels = -1;
};

/// The classes of the rows.
struct ManifestClasses {
  std::vector<std::string> names = {};
  std::vector<std::int32_t> labels = {};  ///< class of each row; empty: none
  ManifestColumn lists = {};              ///< classes of each row that may have several: i64 (-1)
};

/// Finds the class of each row. Without `class_names`, texts are classes in their sorted order, and integers are class
/// indices. With them, integers are indices only if none of the names is an integer. Throws UserError(data), with the
/// place, for a row without a class and for a value that is none.
ManifestClasses find_classes(const Table& table, ClassColumns columns, const std::vector<std::string>& class_names);

}  // namespace flowtrain
