#pragma once
// Applies a decoder to the outputs of a net with a CTC loss.

#include <ATen/core/Tensor.h>

#include "nets/tensors.h"
#include "stages/decoding/ctc_decoder.h"

namespace flowtrain {

/// Returns the labels that the decoder finds in `logits` (B, K, T), of which the first `logits_length` (B) frames count
/// where there is such an output: i64 (B, N) on the device of `logits`, filled up with -1. Rows are decoded on as many
/// threads as LibTorch has. Throws std::invalid_argument for other shapes and for lengths beyond T.
at::Tensor ctc_prediction(const CtcDecoder& decoder, const nets::NamedTensors& outputs);

}  // namespace flowtrain
