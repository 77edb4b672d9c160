#include "sampling/sources/mixed_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace flowtrain {

namespace {

constexpr std::size_t places_at_once = 64;

std::vector<std::uint64_t> turns_of(const std::vector<OrderedSource>& sources) {
  std::vector<std::uint64_t> turns;
  for (auto& source : sources) turns.push_back(source.turns);
  return turns;
}

}  // namespace

MixedOrder::MixedOrder(std::vector<OrderedSource> sources, std::uint64_t run)
    : sources_(std::move(sources)), run_(run), interleaving_(turns_of(sources_)) {}

MixedOrder::Place MixedOrder::place(std::uint64_t epoch, std::uint64_t index) const {
  const auto turn = interleaving_.at(index / run_);
  return {turn.source, (epoch * sources_[turn.source].turns + turn.number) * run_ + index % run_};
}

std::uint64_t MixedOrder::at(std::uint64_t epoch, std::uint64_t index) const {
  const auto [number, position] = place(epoch, index);
  const OrderedSource& source = sources_[number];
  const std::uint64_t size = source.order->size();
  return source.first_id + source.order->at(position / size, position % size);
}

void MixedOrder::fill(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const {
  while (!ids.empty()) {
    const auto some = ids.first(std::min(ids.size(), places_at_once));
    fill_some(epoch, first, some);
    first += some.size();
    ids = ids.subspan(some.size());
  }
}

// Whatever lies between them, a source's positions follow on one another: its order is asked for all of them at once.
void MixedOrder::fill_some(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const {
  std::array<Place, places_at_once> places;
  for (std::size_t i = 0; i < ids.size(); ++i) places[i] = place(epoch, first + i);
  std::array<std::uint64_t, places_at_once> drawn;
  for (std::size_t number = 0; number < sources_.size(); ++number) {
    const auto is_own = [&](const Place& each) { return each.source == number; };
    const auto begin = places.begin(), end = begin + static_cast<std::ptrdiff_t>(ids.size());
    const auto next = std::find_if(begin, end, is_own);
    if (next == end) continue;
    const auto count = static_cast<std::size_t>(std::count_if(next, end, is_own));
    const OrderedSource& source = sources_[number];
    const std::uint64_t size = source.order->size();
    std::uint64_t position = next->position;
    for (std::size_t done = 0; done < count;) {
      const auto some = std::min<std::uint64_t>(count - done, size - position % size);
      source.order->fill(position / size, position % size, std::span(drawn).subspan(done, some));
      position += some;
      done += some;
    }
    for (std::size_t i = 0, taken = 0; i < ids.size(); ++i)
      if (is_own(places[i])) ids[i] = source.first_id + drawn[taken++];
  }
}

std::uint64_t turns_of_epoch(EpochEnd end, std::span<const std::uint64_t> sizes, std::span<const double> weights,
                             std::uint64_t run) {
  constexpr long double rounding = 1e-15L;  // so that shares such as 0.1 do not make a turn more
  const long double sum = std::accumulate(weights.begin(), weights.end(), 0.0L);
  std::vector<std::uint64_t> until_through;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const long double turns = static_cast<long double>(sizes[i]) * sum / weights[i] / static_cast<long double>(run);
    until_through.push_back(static_cast<std::uint64_t>(std::max(1.0L, std::ceil(turns * (1 - rounding)))));
  }
  return end == EpochEnd::longest ? std::ranges::max(until_through) : std::ranges::min(until_through);
}

}  // namespace flowtrain
