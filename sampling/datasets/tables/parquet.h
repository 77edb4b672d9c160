#pragma once
// The interface of libflowtrain_parquet.so, which reads Parquet files: it alone needs Arrow
// (sampling/parquet/reader.cpp).

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sampling/datasets/tables/columns.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {

/// A column of a Parquet file, as its schema declares it.
struct ParquetColumn {
  enum class Kind { text, bytes, integer, real, unsupported };

  std::string name;
  Kind kind = Kind::unsupported;
  bool is_list = false;
  std::string type = {};  ///< type in Parquet's words, for messages

  bool operator==(const ParquetColumn&) const = default;
};

/// The values of a column in a group of rows. Texts and bytes are in `texts`, a list of texts as a list of JSON.
/// Numbers are as ManifestColumn::bytes() reads them. A null is an empty text, or no number.
struct ParquetValues {
  ManifestColumn column = {};
  std::vector<std::pair<std::size_t, const char*>> wrong = {};  ///< rows that cannot be had, in order, with the reason
};

/// An open Parquet file. Const methods may be called from any thread; they throw std::runtime_error for damaged files.
class ParquetFile {
 public:
  virtual ~ParquetFile() = default;

  virtual const std::vector<ParquetColumn>& columns() const = 0;
  /// Returns the number of rows of each group.
  virtual const std::vector<std::uint64_t>& group_rows() const = 0;
  /// Decodes a column of a group; the form of its part is not set.
  virtual ParquetValues read(std::size_t group, std::size_t column) const = 0;
};

/// The library's function flowtrain_open_parquet: opens a file, whose bytes outlive it. Columns of a file that is far
/// away are read whole, by one request each. Throws std::runtime_error.
using OpenParquet = ParquetFile*(const ByteSource& bytes, bool is_far);

}  // namespace flowtrain
