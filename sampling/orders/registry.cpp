#include "sampling/orders/entries.h"

namespace flowtrain {

Registry<Order, OrderInput>& orders() {
  static Registry<Order, OrderInput> registry = [] {
    Registry<Order, OrderInput> all("order");
#define FLOWTRAIN_ENTRY(name) all.add(name##_entry());
#include "sampling/orders/list.h"
#undef FLOWTRAIN_ENTRY
    return all;
  }();
  return registry;
}

}  // namespace flowtrain
