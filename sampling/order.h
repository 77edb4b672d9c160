#pragma once
// Orders choose the record at each position of the endless stream. They are pure functions: O(1) time and memory per
// position unless said otherwise, so that any position can be reached at once.

#include <array>
#include <cstdint>
#include <span>

#include "sampling/dataset.h"

namespace flowtrain {

template <class Part, class Input>
class Registry;

/// The sequence of one epoch. Any thread.
class Order {
 public:
  virtual ~Order() = default;
  /// Returns the number of positions per epoch; > 0.
  virtual std::uint64_t size() const = 0;
  /// Returns the record at `index` (< size()) of `epoch` (from 0).
  virtual std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const = 0;
  /// Finds a batch's records at once: those at() `first`, `first` + 1 …, as many as `ids` holds, within the epoch.
  virtual void fill(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const {
    for (auto& id : ids) id = at(epoch, first++);
  }
};

struct OrderInput {
  const Dataset& dataset;
  std::uint64_t seed = 0;
};

/// Returns all orders by name: sequential, shuffle, weighted, class_balanced, block_shuffle.
Registry<Order, OrderInput>& orders();

/// A keyed permutation of 0 … n-1, computed point by point: an alternating Feistel network over the next power of two,
/// walking cycles until the value is in range (J. Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA
/// 2002). Fewer than two walks are expected for n > 32; the smallest domain is 64. Cheap to make; any thread.
class Permutation {
 public:
  /// n > 0.
  Permutation(std::uint64_t n, std::uint64_t key);
  std::uint64_t size() const { return n_; }
  /// Returns the image of x < n.
  std::uint64_t operator()(std::uint64_t x) const;
  /// Returns the x whose image is y < n.
  std::uint64_t inverse(std::uint64_t y) const;

 private:
  static constexpr int max_rounds = 12;

  std::uint64_t n_;
  int left_bits_, right_bits_, rounds_;
  std::array<std::uint64_t, max_rounds> round_keys_;  ///< the first rounds_ of them
};

}  // namespace flowtrain
