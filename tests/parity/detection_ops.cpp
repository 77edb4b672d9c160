#include "tests/parity/ops.h"

namespace flowtrain::parity {

Ops detection_ops() { return {}; }


}  // namespace flowtrain::parity
