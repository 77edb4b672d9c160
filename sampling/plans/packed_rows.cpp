#include "sampling/plans/packed_rows.h"

#include <algorithm>

#include "sampling/core/error.h"
#include "sampling/order.h"
#include "sampling/orders/entries.h"
#include "sampling/plans/by_length.h"

namespace flowtrain {
namespace {

/// The records that suffice a class, so that each of its places has a choice.
constexpr std::uint64_t enough_records = 256;
/// A class spans at most this part of its longest length.
constexpr std::uint32_t widest_part = 64;
constexpr double enough_filled = 0.97;

}  // namespace

PackedRows::PackedRows(std::span<const std::uint32_t> lengths, const PackedOptions& options)
    : lengths_(lengths), options_(options), sorted_(records_by_length(lengths)) {
  if (options.row_length == 0) throw InternalError("packed rows of no positions");
  for (std::uint64_t record = 0; record < lengths.size(); ++record) positions_ += length(record);
  packing_ = packed(true);
  if (filled() >= enough_filled) return;
  auto closely = packed(false);
  if (closely.rows() < packing_.rows()) packing_ = std::move(closely);
}

std::uint32_t PackedRows::length(std::uint64_t record) const {
  return std::clamp(lengths_[record], 1u, options_.row_length);
}

double PackedRows::filled() const {
  return static_cast<double>(positions_) / (static_cast<double>(rows()) * options_.row_length);
}

PackedRows::Packing PackedRows::packed(bool widely) const {
  Packing packing;
  const auto begin_of = [&](std::size_t end, std::uint32_t least) {
    return least == 1 ? 0 : begin_of_length(sorted_, lengths_, end, least);  // 1 stands for 0, too
  };
  for (std::size_t end = sorted_.size(); end > 0;) {
    const auto longest = length(sorted_[end - 1]);
    auto begin = begin_of(end, longest);
    while (widely && begin > 0 && end - begin < enough_records) {
      const auto next = length(sorted_[begin - 1]);
      // Rounding must not make fewer of them fit into a row: two halves of a row would no longer make one.
      const bool alike =
          longest - next <= longest / widest_part && options_.row_length / next == options_.row_length / longest;
      if (!alike) break;
      begin = begin_of(begin, next);
    }
    packing.classes.push_back({longest, end - begin});
    packing.first_places.push_back(begin);
    end = begin;
  }
  packing.templates = best_fit_decreasing(packing.classes, options_.row_length);
  return packing;
}

std::uint64_t PackedRows::most_pieces() const {
  std::uint64_t most = 0;
  for (const auto& rows : packing_.templates) {
    std::uint64_t pieces = 0;
    for (const auto& part : rows.parts) pieces += part.count;
    most = std::max(most, pieces);
  }
  return most;
}

std::uint64_t PackedRows::bytes() const {
  const auto& [classes, first_places, templates] = packing_;
  std::uint64_t bytes = sizeof(*this) + sorted_.capacity() * sizeof(std::uint32_t) +
                        classes.capacity() * sizeof(PieceClass) + first_places.capacity() * sizeof(std::uint64_t) +
                        templates.capacity() * sizeof(RowTemplate);
  for (const auto& rows : templates) bytes += rows.parts.capacity() * sizeof(RowTemplate::Part);
  return bytes;
}

void PackedRows::row(std::uint64_t epoch, std::uint64_t index, std::vector<PackedPiece>& pieces) const {
  if (options_.shuffled) index = Permutation(rows(), permutation_key(options_.seed, epoch, 0))(index);
  const auto& [classes, first_places, templates] = packing_;
  const auto& rows = *std::prev(std::ranges::upper_bound(templates, index, {}, &RowTemplate::first_row));
  pieces.clear();
  std::uint32_t begin = 0;
  for (const auto& [of, count, first] : rows.parts) {
    const Permutation order(classes[of].pieces, permutation_key(options_.seed, epoch, 1, of));
    auto place = first + (index - rows.first_row) * count;
    for (const auto end = place + count; place < end; ++place) {
      const auto id = sorted_[first_places[of] + (options_.shuffled ? order(place) : place)];
      pieces.push_back({id, begin, length(id)});
      begin += pieces.back().length;
    }
  }
}

}  // namespace flowtrain
