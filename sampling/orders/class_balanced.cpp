// An order with every class equally often. An epoch is a sequence of rounds; each round holds every class once, in an
// order of its own. The end of the epoch cuts the last round; the classes in it rotate from epoch to epoch, so that
// none is favoured. Nothing is stored: the k-th visit to a class follows from the position alone.

#include <map>

#include "sampling/orders/entries.h"

namespace flowtrain {
namespace {

class ClassBalanced : public Order {
 public:
  explicit ClassBalanced(const OrderInput& input) : samples_(samples_of(input)), seed_(input.seed) {
    std::map<std::int64_t, std::vector<std::uint64_t>> by_label;
    for (std::uint64_t id = 0; id < samples_; ++id)
      if (const auto label = input.dataset.label(id); label >= 0) by_label[label].push_back(id);
    if (by_label.empty())
      throw UserError(ExitCode::data, "order.name: class_balanced needs labels, and this data set has none",
                      "set order.name = \"shuffle\"");
    for (auto& [label, members] : by_label) members_.push_back(std::move(members));
  }

  std::uint64_t size() const override { return samples_; }

  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    const std::uint64_t classes = members_.size();
    const auto round = index / classes, slot = index % classes;
    const auto full_rounds = samples_ / classes, cut_length = samples_ % classes;
    // Cut rounds take their classes in turn: epoch e has the `cut_length` turns from e * cut_length on.
    const auto turns_before = epoch * cut_length;
    const bool cut = round == full_rounds;
    const Permutation round_order(cut ? cut_length : classes, permutation_key(seed_, of_classes, epoch, round));
    const auto chosen = cut ? (turns_before + round_order(slot)) % classes : round_order(slot);
    const auto cut_visits = turns_before / classes + (turns_before % classes > chosen ? 1 : 0);
    return member(chosen, epoch * full_rounds + cut_visits + round);
  }

 private:
  enum : std::uint64_t { of_classes, of_members };  ///< the purpose of a permutation

  /// Returns the record of the `visit`-th visit to a class, whose members are shuffled again and again.
  std::uint64_t member(std::uint64_t chosen, std::uint64_t visit) const {
    const auto& ids = members_[chosen];
    const Permutation order(ids.size(), permutation_key(seed_, of_members, chosen, visit / ids.size()));
    return ids[order(visit % ids.size())];
  }

  std::uint64_t samples_, seed_;
  std::vector<std::vector<std::uint64_t>> members_;  ///< record ids per class; no class is empty
};

}  // namespace

OrderEntry class_balanced_entry() {
  return {.name = "class_balanced",
          .help = "every class equally often, and every record of a class; records without a label are left out",
          .keys = {},
          .make = [](const Settings&, const OrderInput& input) -> std::unique_ptr<Order> {
            return std::make_unique<ClassBalanced>(input);
          }};
}

}  // namespace flowtrain
