// The two orders that need only the number of records: as stored, and shuffled.

#include "sampling/core/text.h"
#include "sampling/orders/entries.h"

namespace flowtrain {
namespace {

class Sequential : public Order {
 public:
  explicit Sequential(std::uint64_t samples) : samples_(samples) {}
  std::uint64_t size() const override { return samples_; }
  std::uint64_t at(std::uint64_t, std::uint64_t index) const override { return index; }

 private:
  std::uint64_t samples_;
};

class Shuffle : public Order {
 public:
  Shuffle(std::uint64_t samples, std::uint64_t seed) : samples_(samples), seed_(seed) {}
  std::uint64_t size() const override { return samples_; }
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    return Permutation(samples_, permutation_key(seed_, epoch))(index);
  }
  void fill(std::uint64_t epoch, std::uint64_t first, std::span<std::uint64_t> ids) const override {
    const Permutation order(samples_, permutation_key(seed_, epoch));  // the keys cost as much as a point
    for (auto& id : ids) id = order(first++);
  }

 private:
  std::uint64_t samples_, seed_;
};

}  // namespace

OrderEntry sequential_entry() {
  return {.name = "sequential",
          .help = "every record once per epoch, in the stored order",
          .keys = {{"first", Kind::integer, std::int64_t{0}, "number of records to use, from the first on; 0: all", 0,
                    9e15}},
          .make = [](const Settings& settings, const OrderInput& input) -> std::unique_ptr<Order> {
            const auto samples = samples_of(input), first = static_cast<std::uint64_t>(settings.integer("first"));
            if (first > samples)
              throw settings.error("first", concat(first, " is more than the ", samples, " records that exist"),
                                   ExitCode::data);
            return std::make_unique<Sequential>(first > 0 ? first : samples);
          }};
}

OrderEntry shuffle_entry() {
  return {.name = "shuffle",
          .help = "every record once per epoch, in a new order each epoch",
          .keys = {},
          .make = [](const Settings&, const OrderInput& input) -> std::unique_ptr<Order> {
            return std::make_unique<Shuffle>(samples_of(input), input.seed);
          }};
}

}  // namespace flowtrain
