#pragma once
// Rows of a fixed length that are filled with whole records.

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/plans/best_fit.h"

namespace flowtrain {

struct PackedOptions {
  std::uint32_t row_length;  ///< positions of a row; > 0
  std::uint64_t seed = 0;
  bool shuffled = true;  ///< false: the fullest rows first, each class of records in its own order
};

/// A record within a row: positions begin … begin + length - 1.
struct PackedPiece {
  std::uint64_t id;
  std::uint32_t begin, length;

  bool operator==(const PackedPiece&) const = default;
};

/// The rows of each epoch: each record once, whole. Records of like length are a class; best-fit decreasing packs the
/// classes once, which gives row templates: how many records of which classes a row holds. In each epoch a keyed
/// permutation deals the records of each class to its places in the templates, and another one shuffles the rows. So
/// each epoch has as many rows, and lengths alone decide how full they are.
///
/// A record takes at least one position, also if its length is 0, so that none is lost. A record longer than a row
/// takes a whole one: the caller cuts it. Lengths of fewer than 256 records share a class with those at most 1/64
/// shorter, which all take the room of the longest, so that there is a choice for each place; if the rows are filled by
/// less than 97 % then, each length is a class of its own if that takes fewer rows.
///
/// Making it takes O(n), and any row is then reached in O(log(templates) + pieces). It keeps 4 bytes a record, and at
/// most two templates a class. Const methods may be called from any thread.
class PackedRows {
 public:
  /// `lengths` has an element for each record, and must outlive this. Throws UserError(usage) for 2^32 records or more.
  PackedRows(std::span<const std::uint32_t> lengths, const PackedOptions& options);

  /// Returns the number of rows, the same in each epoch; > 0.
  std::uint64_t rows() const { return packing_.rows(); }
  /// Returns the positions of a row.
  std::uint32_t row_length() const { return options_.row_length; }
  /// Returns the largest number of records in a row.
  std::uint64_t most_pieces() const;
  /// Returns the share of all positions that records take.
  double filled() const;
  std::uint64_t classes() const { return packing_.classes.size(); }
  std::uint64_t templates() const { return packing_.templates.size(); }
  /// Returns the memory that this takes beside the lengths.
  std::uint64_t bytes() const;

  /// Replaces `pieces` by the records of row `index` (< rows()) of `epoch`, one after the other from position 0 on.
  void row(std::uint64_t epoch, std::uint64_t index, std::vector<PackedPiece>& pieces) const;

 private:
  struct Packing {
    std::vector<PieceClass> classes;          ///< the longest records first
    std::vector<std::uint64_t> first_places;  ///< place in sorted_ of the first record of each class
    std::vector<RowTemplate> templates;

    std::uint64_t rows() const { return templates.back().first_row + templates.back().rows; }
  };

  std::uint32_t length(std::uint64_t record) const;
  Packing packed(bool widely) const;

  std::span<const std::uint32_t> lengths_;
  PackedOptions options_;
  std::vector<std::uint32_t> sorted_;  ///< records by (length, record)
  std::uint64_t positions_ = 0;        ///< positions that all records take
  Packing packing_;
};

}  // namespace flowtrain
