#include "sampling/sources/mixed_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::size_t places_at_once = 64;

std::vector<std::uint64_t> turns_of(const std::vector<OrderedSource>& sources) {
  std::vector<std::uint64_t> turns;
  for (auto& source : sources) turns.push_back(source.turns);
  return turns;
}

}  // namespace

void fill_endless(const Order& order, std::uint64_t position, std::span<std::uint64_t> ids) {
  for (const std::uint64_t size = order.size(); !ids.empty();) {
    const auto some = ids.first(std::min<std::uint64_t>(ids.size(), size - position % size));
    order.fill(position / size, position % size, some);
    position += some.size();
    ids = ids.subspan(some.size());
  }
}

std::vector<std::uint64_t> shared_out(std::uint64_t total, std::span<const double> weights) {
  const long double sum = std::accumulate(weights.begin(), weights.end(), 0.0L);
  std::vector<std::uint64_t> shares;
  std::vector<long double> rests;
  std::uint64_t left = total;
  for (const double weight : weights) {
    const long double exact = static_cast<long double>(total) * (weight / sum);
    shares.push_back(std::min(left, static_cast<std::uint64_t>(std::floor(exact))));
    rests.push_back(exact - static_cast<long double>(shares.back()));
    left -= shares.back();
  }
  std::vector<std::size_t> by_rest(weights.size());
  std::iota(by_rest.begin(), by_rest.end(), 0);
  std::ranges::stable_sort(by_rest, std::greater(), [&](std::size_t i) { return rests[i]; });
  if (left > by_rest.size()) throw InternalError("the shares do not add up");
  for (std::size_t i = 0; i < left; ++i) ++shares[by_rest[i]];
  return shares;
}

Interleaving::Interleaving(std::span<const std::uint64_t> turns) : sources_(turns.size()) {
  if (turns.empty() || std::ranges::find(turns, 0u) != turns.end()) throw InternalError("a source has no turn");
  size_ = std::accumulate(turns.begin(), turns.end(), std::uint64_t{0});
  std::vector<std::size_t> by_turns(turns.size());
  std::iota(by_turns.begin(), by_turns.end(), 0);
  std::ranges::stable_sort(by_turns, std::greater(), [&](std::size_t source) { return turns[source]; });
  root_ = build(by_turns, turns);
}

std::size_t Interleaving::build(std::span<const std::size_t> sources, std::span<const std::uint64_t> turns) {
  if (sources.size() == 1) return sources.front();
  const auto of = [&](std::span<const std::size_t> some) {
    return std::accumulate(some.begin(), some.end(), std::uint64_t{0},
                           [&](std::uint64_t sum, std::size_t i) { return sum + turns[i]; });
  };
  const auto left = sources.first(sources.size() / 2), right = sources.subspan(left.size());
  Node node{of(sources), of(left), build(left, turns), build(right, turns)};
  nodes_.push_back(node);
  return sources_ + nodes_.size() - 1;
}

std::uint64_t Interleaving::Node::left_of(std::uint64_t places) const {
  using Wide = unsigned __int128;
  // The exact share is rounded to the nearest: it is off by at most half of a turn, and exact at the end.
  return static_cast<std::uint64_t>((2 * static_cast<Wide>(places) * left_turns + turns) /
                                    (2 * static_cast<Wide>(turns)));
}

Interleaving::Turn Interleaving::at(std::uint64_t place) const {
  std::size_t side = root_;
  while (side >= sources_) {
    const Node& node = nodes_[side - sources_];
    const std::uint64_t before = node.left_of(place);
    const bool is_left = node.left_of(place + 1) > before;
    place = is_left ? before : place - before;
    side = is_left ? node.left : node.right;
  }
  return {side, place};
}

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

// A source's positions are consecutive, whatever lies between them, so its order is asked for all of them at once.
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
    fill_endless(*source.order, next->position, std::span(drawn).first(count));
    for (std::size_t i = 0, taken = 0; i < ids.size(); ++i)
      if (is_own(places[i])) ids[i] = source.first_id + drawn[taken++];
  }
}

std::uint64_t turns_of_epoch(EpochEnd end, std::span<const std::uint64_t> sizes, std::span<const double> weights,
                             std::uint64_t run) {
  constexpr long double rounding = 1e-15L;  // keeps shares such as 0.1 from making one more turn
  const long double sum = std::accumulate(weights.begin(), weights.end(), 0.0L);
  std::vector<std::uint64_t> until_through;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const long double turns = static_cast<long double>(sizes[i]) * sum / weights[i] / static_cast<long double>(run);
    until_through.push_back(static_cast<std::uint64_t>(std::max(1.0L, std::ceil(turns * (1 - rounding)))));
  }
  return end == EpochEnd::longest ? std::ranges::max(until_through) : std::ranges::min(until_through);
}

}  // namespace flowtrain
