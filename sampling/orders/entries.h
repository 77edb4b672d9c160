#pragma once
// The built-in orders: each file has a function that returns its entry, and a line in list.h.

#include "sampling/core/random.h"
#include "sampling/core/registry.h"
#include "sampling/order.h"

namespace flowtrain {

using OrderEntry = Registry<Order, OrderInput>::Item;

#define FLOWTRAIN_ENTRY(name) OrderEntry name##_entry();
#include "sampling/orders/list.h"
#undef FLOWTRAIN_ENTRY

/// Returns the number of records of a data set. Throws UserError(data) if there are none.
inline std::uint64_t samples_of(const OrderInput& input) {
  const auto samples = input.dataset.size();
  if (samples == 0) throw UserError(ExitCode::data, "the data set is empty", "check data.path and the split");
  return samples;
}

/// Makes a permutation's key for one purpose: equal numbers give equal keys, others unrelated ones.
template <class... Numbers>
std::uint64_t permutation_key(std::uint64_t seed, Numbers... numbers) {
  std::uint64_t key = mix64(seed + 0x9e3779b97f4a7c15ULL);
  ((key = mix64(key + static_cast<std::uint64_t>(numbers) + 0x9e3779b97f4a7c15ULL)), ...);
  return key;
}

}  // namespace flowtrain
