#pragma once
// The lengths of all records, and how they decide the batches of a data set whose rows differ in length.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sampling/batches.h"
#include "sampling/plans/bucketed_batches.h"
#include "sampling/plans/lengths.h"
#include "sampling/plans/packed_rows.h"
#include "sampling/plans/size_plan.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// The positions along one axis that batches have, and those that records fill; the others are padding.
struct Filling {
  std::uint64_t positions = 0, filled = 0;

  /// Returns the share of the positions that is padding, 0 … 1.
  double padding() const {
    return positions == 0 ? 0 : 1 - static_cast<double>(filled) / static_cast<double>(positions);
  }
};

/// The rows of one group of a batch that a process takes.
struct GroupRows {
  std::uint64_t begin = 0, rows = 0;  ///< row `begin` of the whole batch, of all groups, and those after it
  std::uint32_t group = 0;
};

/// Gives each batch its shape. At most one of `bucketed` and `packed` is set; without them the order chooses the rows,
/// and each free axis is as long as the longest row of the batch. `sizes` chooses the extents of Field::sized.
struct ShapePlan {
  Lengths lengths;  ///< extents of each record along all free axes of the rows; no axes if `sizes` chooses all
  std::unique_ptr<const BucketedBatches> bucketed = {};  ///< batches of records of like length
  std::unique_ptr<const PackedRows> packed = {};         ///< rows that hold several records
  std::uint64_t most_pieces = 1;                         ///< packed: largest number of records in a row
  std::size_t axis = 0;                                  ///< axis whose lengths decide the batches
  std::unique_ptr<const SizePlan> sizes = {};            ///< chooses among the extents of `sized`
  std::vector<std::vector<std::int64_t>> sized = {};     ///< by free axes: the extents; empty where records decide
  std::vector<std::uint32_t> groups = {};  ///< rows of each group in a whole batch; empty: all rows have all fields

  /// Returns whether it chooses the records of each batch, not the order.
  bool chooses_rows() const { return bucketed || packed; }
  /// Returns the number of free axes of all fields.
  std::size_t axes() const { return std::max(lengths.axes(), sized.size()); }
  bool is_sized(std::size_t axis) const { return axis < sized.size() && !sized[axis].empty(); }
  /// Returns whether batches differ in shape.
  bool varies() const { return axes() > 0; }
  /// Returns whether lengths of records decide anything.
  bool has_lengths() const { return lengths.axes() > 0; }
  /// Returns the rows of each group that a process takes. All rows are dealt to the processes like cards, so that they
  /// get equal numbers of each group and of all, ± 1.
  std::vector<GroupRows> own_groups(const Slice& slice) const;
  /// Returns the positions along an axis of `lengths` that a record of a batch fills; the rest of its row is padding.
  std::uint64_t filled(const Slab& slab, const RowWork& record, std::size_t along) const;
  /// Returns the bytes of a field that a record of a batch fills: those of Slab::bytes_of() without padding.
  std::size_t filled_bytes(const Slab& slab, const RowWork& record, std::size_t field) const;
  /// Adds a batch to a filling along the deciding axis; without one it does nothing.
  void add_to(Filling& filling, const Slab& slab) const;

  /// Returns the shapes into one of which each batch of up to `rows` rows fits. The records are looked through once.
  std::vector<BatchShape> shapes(std::uint32_t rows) const;
  /// Writes the extents of a batch of these records: each axis is as long as the longest, at least 1, or has the size
  /// of that number.
  void measure(std::span<const std::uint64_t> ids, std::size_t size, std::vector<std::int64_t>& extents) const;

  /// The shapes of whole batches; shapes() makes them.
  struct Largest {
    std::once_flag found = {};
    std::vector<BatchShape> shapes = {};
  };
  std::unique_ptr<Largest> largest = std::make_unique<Largest>();
};

/// Returns the layout of slabs of up to `rows` rows; `plan` may be null.
SlabLayout slab_layout(std::vector<Field> fields, std::uint32_t rows, const ShapePlan* plan);

}  // namespace flowtrain
