#include "sampling/orders/entries.h"

namespace flowtrain {

Registry<Order, OrderInput>& orders() {
  static Registry<Order, OrderInput> registry = [] {
    Registry<Order, OrderInput> all("order");
    for (auto entry : {sequential_entry, shuffle_entry, block_shuffle_entry, weighted_entry, class_balanced_entry})
      all.add(entry());
    return all;
  }();
  return registry;
}

}  // namespace flowtrain
