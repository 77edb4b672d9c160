#include "sampling/datasets/entries.h"

namespace flowtrain {

Registry<Dataset, DatasetInput>& datasets() {
  static Registry<Dataset, DatasetInput> registry = [] {
    Registry<Dataset, DatasetInput> all("data set");
#define FLOWTRAIN_ENTRY(name) all.add(name##_entry());
#include "sampling/datasets/list.h"
#undef FLOWTRAIN_ENTRY
    return all;
  }();
  return registry;
}

}  // namespace flowtrain
