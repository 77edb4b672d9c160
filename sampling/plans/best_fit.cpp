#include "sampling/plans/best_fit.h"

#include <algorithm>
#include <map>

namespace flowtrain {
namespace {

/// Takes the first `rows` rows out of a template.
RowTemplate take(RowTemplate& from, std::uint64_t rows) {
  RowTemplate taken{0, rows, from.parts};
  from.rows -= rows;
  for (auto& part : from.parts) part.first += rows * part.count;
  return taken;
}

}  // namespace

std::vector<RowTemplate> best_fit_decreasing(std::span<const PieceClass> classes, std::uint32_t row_length) {
  std::multimap<std::uint32_t, RowTemplate> rows_by_room;
  for (std::uint32_t of = 0; of < classes.size(); ++of) {
    const std::uint32_t length = classes[of].length;
    const std::uint64_t pieces = classes[of].pieces;
    for (std::uint64_t dealt = 0; dealt < pieces;) {
      std::uint32_t room = row_length;
      RowTemplate rows{0, (pieces - dealt + room / length - 1) / (room / length), {}};
      if (const auto found = rows_by_room.lower_bound(length); found != rows_by_room.end()) {
        room = found->first;
        rows = std::move(rows_by_room.extract(found).mapped());
      }
      const auto place = [&](std::uint64_t count, std::uint64_t into) {
        auto placed = take(rows, into);
        placed.parts.push_back({of, static_cast<std::uint32_t>(count), dealt});
        dealt += count * into;
        rows_by_room.emplace(room - static_cast<std::uint32_t>(count) * length, std::move(placed));
      };
      // A row that has just got a piece is the fullest with room for the next one, until it is full.
      const std::uint64_t fit = room / length;
      if (const auto full = std::min(rows.rows, (pieces - dealt) / fit); full > 0) place(fit, full);
      if (rows.rows > 0 && dealt < pieces) place(pieces - dealt, 1);
      if (rows.rows > 0) rows_by_room.emplace(room, std::move(rows));
    }
  }
  std::vector<RowTemplate> all;
  std::uint64_t next_row = 0;
  for (auto& [room, rows] : rows_by_room) {
    rows.first_row = next_row;
    next_row += rows.rows;
    rows.parts.shrink_to_fit();
    all.push_back(std::move(rows));
  }
  return all;
}

}  // namespace flowtrain
