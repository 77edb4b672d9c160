#include "sampling/sources/interleaving.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sampling/core/error.h"

namespace flowtrain {

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
  if (left > by_rest.size()) throw InternalError("shares do not add up");
  for (std::size_t i = 0; i < left; ++i) ++shares[by_rest[i]];
  return shares;
}

Interleaving::Interleaving(std::span<const std::uint64_t> turns) : sources_(turns.size()) {
  if (turns.empty() || std::ranges::find(turns, 0u) != turns.end()) throw InternalError("a source without a turn");
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
  // The exact share, rounded to the nearest: half of a turn off at most, and all at the end.
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

}  // namespace flowtrain
