#pragma once
// Draws the confusion matrix as a picture.

#include "sampling/codecs/image.h"
#include "stages/evaluation/class_table.h"

namespace flowtrain {

/// Returns an RGB picture: a row of cells for each label, a column for each prediction, both in the order of classes. A
/// cell is bluer the greater its share of the row. With up to 40 classes, it shows its count.
Image confusion_picture(const ClassTable& table);

}  // namespace flowtrain
