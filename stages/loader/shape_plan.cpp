#include "stages/loader/shape_plan.h"

#include <algorithm>
#include <limits>
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

/// Returns the shapes of the largest batches, each with its extents; without buckets the order chooses the rows.
std::vector<BatchShape> largest_shapes(const ShapePlan& plan) {
  std::vector<BatchShape> all;
  const auto add = [&](std::uint64_t count, auto longest_on) {
    BatchShape shape{.rows = static_cast<std::uint32_t>(count)};
    for (std::size_t axis = 0; axis < plan.axes(); ++axis)
      shape.extents.push_back(plan.is_sized(axis) ? std::ranges::max(plan.sized[axis])
                                                  : std::max(1u, longest_on(plan.lengths.axis(axis))));
    all.push_back(std::move(shape));
  };
  constexpr std::uint64_t any_number = std::numeric_limits<std::uint32_t>::max();
  if (plan.bucketed)
    plan.bucketed->each_bucket([&](std::uint64_t count, std::span<const std::uint32_t> records) {
      add(std::min(count, any_number), [records](std::span<const std::uint32_t> extents) {
        std::uint32_t longest = 0;
        for (const auto record : records) longest = std::max(longest, extents[record]);
        return longest;
      });
    });
  else
    add(any_number, [](std::span<const std::uint32_t> extents) { return *std::ranges::max_element(extents); });
  return all;
}

}  // namespace

std::vector<BatchShape> ShapePlan::shapes(std::uint32_t rows) const {
  if (packed) return {{.rows = rows, .records = static_cast<std::uint32_t>(rows * most_pieces)}};
  std::call_once(largest->found, [&] { largest->shapes = largest_shapes(*this); });
  auto all = largest->shapes;
  for (auto& shape : all) shape.rows = std::min(shape.rows, rows);
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

void ShapePlan::measure(std::span<const std::uint64_t> ids, std::size_t size,
                        std::vector<std::int64_t>& extents) const {
  extents.assign(axes(), 1);
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (is_sized(axis))
      extents[axis] = sized[axis][size];
    else
      for (const auto id : ids) extents[axis] = std::max<std::int64_t>(extents[axis], lengths.axis(axis)[id]);
}

std::uint64_t ShapePlan::filled(const Slab& slab, const RowWork& record, std::size_t along) const {
  const std::uint64_t room = packed ? record.place.extent : static_cast<std::uint64_t>(slab.extents()[along]);
  return std::min<std::uint64_t>(lengths.axis(along)[record.id], room);
}

std::size_t ShapePlan::filled_bytes(const Slab& slab, const RowWork& record, std::size_t field) const {
  std::size_t bytes = slab.bytes_of(record, field).size();
  if (!has_lengths() || bytes == 0) return bytes;
  if (packed) return bytes / record.place.extent * filled(slab, record, axis);
  const std::span all(slab.layout().fields());
  const std::size_t first = free_axes_of(all.first(field));
  for (std::size_t own = first; own < first + all[field].free_axes; ++own)
    if (!is_sized(own)) bytes = bytes / static_cast<std::size_t>(slab.extents()[own]) * filled(slab, record, own);
  return bytes;
}

void ShapePlan::add_to(Filling& filling, const Slab& slab) const {
  if (!has_lengths()) return;
  const auto length = packed ? packed->row_length() : static_cast<std::uint64_t>(slab.extents()[axis]);
  filling.positions +=
      (groups.empty() ? slab.row_count() : slab.rows_of(field_of(slab.layout().fields(), axis))) * length;
  for (auto& row : slab.rows()) filling.filled += filled(slab, row, axis);
}

SlabLayout slab_layout(std::vector<Field> fields, std::uint32_t rows, const ShapePlan* plan) {
  return plan ? SlabLayout(std::move(fields), plan->shapes(rows)) : SlabLayout(std::move(fields), rows);
}

}  // namespace flowtrain
