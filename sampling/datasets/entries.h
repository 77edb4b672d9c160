#pragma once
// The built-in data sets, one entry a file; registry.cpp lists them under their names.

#include "sampling/dataset.h"

#include "sampling/core/registry.h"

namespace flowtrain {

using DatasetEntry = Registry<Dataset, DatasetInput>::Item;

DatasetEntry shapes_entry();        ///< drawn on the fly: pictures of simple shapes
DatasetEntry idx_entry();           ///< IDX files: MNIST and its family
DatasetEntry cifar_entry();         ///< CIFAR-10 and CIFAR-100, binary version
DatasetEntry image_folder_entry();  ///< one folder of pictures per class
DatasetEntry voc_entry();           ///< Pascal VOC: pictures with boxes in XML
DatasetEntry coco_entry();          ///< MS COCO: pictures with boxes in one JSON file
DatasetEntry webdataset_entry();    ///< tar shards

}  // namespace flowtrain
