#include "sampling/datasets/entries.h"

namespace flowtrain {

Registry<Dataset, DatasetInput>& datasets() {
  static Registry<Dataset, DatasetInput> registry = [] {
    Registry<Dataset, DatasetInput> all("data set");
    for (auto entry :
         {shapes_entry, idx_entry, cifar_entry, image_folder_entry, voc_entry, coco_entry, webdataset_entry})
      all.add(entry());
    return all;
  }();
  return registry;
}

}  // namespace flowtrain
