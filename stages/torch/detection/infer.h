#pragma once
// What a net of the CornerNet family says of pictures, as the detectors ask for it.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "nets/cornernet/decode.h"
#include "nets/tensors.h"

namespace flowtrain {

/// The answer for B pictures.
struct Inference {
  at::Tensor detections;              ///< (B, n, 8) f32, as nets::decode gives them
  std::vector<at::Tensor> attention;  ///< Saccade: (B, 1, z, z) f32 after the sigmoid, for large objects first
};

/// Asks a net. `images` (B, 3, H, W) f32 on the CPU, blue first, normalised; the answer may be on any device. Attention
/// may be left out unless it is asked for.
using Infer = std::function<Inference(const at::Tensor& images, bool with_attention)>;

/// The maps of pictures, as nets::CornerNet::detect gives them: `tl_heat`, … `br_off`, and with attention `att0` to
/// `att2`.
using Heads = std::function<nets::NamedTensors(const at::Tensor& images, bool with_attention)>;

/// Asks `heads`, at most 32 pictures at once and without gradients, and decodes.
Infer make_infer(Heads heads, const nets::DecodeOptions& options);

}  // namespace flowtrain
