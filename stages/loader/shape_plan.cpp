#include "stages/loader/shape_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace flowtrain {

namespace {

/// Sets the rows of each group in a shape of `shape.rows` rows, which is one process's part of a whole batch.
void set_groups(BatchShape& shape, const std::vector<std::uint32_t>& whole) {
  const std::uint64_t all = std::accumulate(whole.begin(), whole.end(), std::uint64_t{0});
  const std::uint64_t part = std::min<std::uint64_t>(shape.rows, all);
  for (const std::uint32_t rows : whole)
    shape.groups.push_back(static_cast<std::uint32_t>((rows * part + all - 1) / all));
  shape.rows = std::accumulate(shape.groups.begin(), shape.groups.end(), 0u);
}

/// Returns the field that has a free axis, one of those of all fields.
std::size_t field_of(std::span<const Field> fields, std::size_t axis) {
  std::size_t field = 0;
  for (; axis >= fields[field].free_axes; ++field) axis -= fields[field].free_axes;
  return field;
}

}  // namespace

std::vector<BatchShape> ShapePlan::shapes(std::uint32_t rows) const {
  if (packed) return {{.rows = rows, .records = static_cast<std::uint32_t>(rows * most_pieces)}};
  std::vector<BatchShape> all;
  const auto add = [&](std::uint64_t count, auto longest_on) {
    BatchShape shape{.rows = static_cast<std::uint32_t>(count)};
    for (std::size_t axis = 0; axis < lengths.axes(); ++axis)
      shape.extents.push_back(std::max(1u, longest_on(lengths.axis(axis))));
    all.push_back(std::move(shape));
  };
  if (bucketed)
    bucketed->each_bucket([&](std::uint64_t count, std::span<const std::uint32_t> records) {
      add(std::min<std::uint64_t>(count, rows), [records](std::span<const std::uint32_t> extents) {
        std::uint32_t longest = 0;
        for (const auto record : records) longest = std::max(longest, extents[record]);
        return longest;
      });
    });
  else
    add(rows, [](std::span<const std::uint32_t> extents) { return *std::ranges::max_element(extents); });
  if (!groups.empty()) set_groups(all.front(), groups);
  return all;
}

std::vector<GroupRows> ShapePlan::own_groups(const Slice& slice) const {
  // Counts those of the first `rows` rows that are dealt to the processes before one.
  const auto before = [&](std::uint64_t rows, std::uint64_t rank) {
    return rows / slice.world * rank + std::min(rows % slice.world, rank);
  };
  std::vector<GroupRows> own;
  for (std::uint64_t first = 0; const std::uint32_t rows : groups) {
    const std::uint64_t end = first + rows;
    const std::uint64_t begin = before(end, slice.rank) - before(first, slice.rank);
    const std::uint64_t next = before(end, slice.rank + 1) - before(first, slice.rank + 1);
    own.push_back({first + begin, next - begin, static_cast<std::uint32_t>(own.size())});
    first = end;
  }
  return own;
}

void ShapePlan::measure(std::span<const std::uint64_t> ids, std::vector<std::int64_t>& extents) const {
  extents.assign(lengths.axes(), 1);
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    for (const auto id : ids) extents[axis] = std::max<std::int64_t>(extents[axis], lengths.axis(axis)[id]);
}

void ShapePlan::add_to(Filling& filling, const Slab& slab) const {
  if (!varies()) return;
  const auto length = packed ? packed->row_length() : static_cast<std::uint64_t>(slab.extents()[axis]);
  filling.positions +=
      (groups.empty() ? slab.row_count() : slab.rows_of(field_of(slab.layout().fields(), axis))) * length;
  for (auto& row : slab.rows())
    filling.filled += std::min<std::uint64_t>(lengths.axis(axis)[row.id], packed ? row.place.extent : length);
}

SlabLayout slab_layout(std::vector<Field> fields, std::uint32_t rows, const ShapePlan* plan) {
  return plan ? SlabLayout(std::move(fields), plan->shapes(rows)) : SlabLayout(std::move(fields), rows);
}

}  // namespace flowtrain
