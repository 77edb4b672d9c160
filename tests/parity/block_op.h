#pragma once
// The operation `block`: one building block of the CornerNet family, in eval and in train mode.

#include "tests/parity/ops.h"

namespace flowtrain::parity {

/// Kinds and arguments: convolution {k, inp, out, stride, bn}, residual and fire {inp, out, stride}, unpool_transpose,
/// unpool_nearest, merge, corner_pool_tl, corner_pool_br {dim}, head {k, inp, mid, out}, hourglass {family, n, dims,
/// modules} and stack {… stacks, pre}.
/// In: x, the gradients g, g1 … of the outputs, and weights sd.<name>. Out: eval.y, eval.y1 …, train.y …, train.gx,
/// train.grad.<name>, train.sd.<buffer>.
NamedTensors run_block(const Call& call);

}  // namespace flowtrain::parity
