#pragma once
// The confusion matrix as a picture.

#include "sampling/codecs/image.h"
#include "stages/evaluation/class_table.h"

namespace flowtrain {

/// RGB: a row of cells for each label, a column for each prediction, both by the classes' numbers along the left and
/// upper side. A cell is the bluer the greater its share of the row; up to 40 classes its count stands in it.
Image confusion_picture(const ClassTable& table);

}  // namespace flowtrain
