#pragma once
// Hourglass networks: A. Newell et al., "Stacked hourglass networks for human pose estimation", ECCV 2016, as the
// CornerNet family has them. Parameters have the names of princeton-vl/CornerNet-Lite. Only nets/ includes this file.

#include <vector>

#include "nets/cornernet/blocks.h"

namespace flowtrain::nets::cornernet {

/// One hourglass. Level k works at 1 / 2^k of the size with widths[k]; the innermost of its n recursions ends at level
/// n = widths.size() - 1, so that sides must be multiples of 2^n.
struct HourglassPlan {
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> blocks;  ///< number of blocks in each branch of a level; as many as widths
  bool fire = false;                 ///< fire blocks and transposed convolutions; else residual blocks and nearest
};

/// A stem, and hourglasses one after the other. The stem's last width is that of the hourglass's level 0.
struct StackPlan {
  std::vector<std::int64_t> pre;  ///< widths: a 7x7 convolution, then residual blocks, each with stride 2
  HourglassPlan hourglass;
  std::int64_t stacks = 1;
};

/// One hourglass: halves the size, runs the inner part, doubles the size, and adds the branch that kept the size.
class Hourglass final : public torch::nn::Module {
 public:
  explicit Hourglass(const HourglassPlan& plan, std::size_t level = 0);

  /// Maps x (B, widths[level], H, W) to the same shape. The sums of all levels are added to `merged` if it is given,
  /// innermost first; the result is the last of them.
  at::Tensor forward(const at::Tensor& x, std::vector<at::Tensor>* merged = nullptr);

 private:
  torch::nn::Sequential up1_ = nullptr, low1_ = nullptr;
  std::shared_ptr<Hourglass> inner_;           ///< low2, or null at the last level
  torch::nn::Sequential innermost_ = nullptr;  ///< low2 at the last level
  torch::nn::Sequential low3_ = nullptr;
  torch::nn::ConvTranspose2d up2_ = nullptr;
};

/// The results of a stack of hourglasses.
struct StackFeatures {
  std::vector<at::Tensor> maps;                 ///< one map of each hourglass, for the heads
  std::vector<std::vector<at::Tensor>> merged;  ///< the sums of each hourglass, innermost first; empty unless asked for
};

/// `hg` of the nets: the stem, the hourglasses, and the merge of input and output between each two.
class HourglassStack final : public torch::nn::Module {
 public:
  HourglassStack(const StackPlan& plan, std::int64_t channels);

  /// image: (B, channels, H, W).
  StackFeatures forward(const at::Tensor& image, bool with_merged);

 private:
  torch::nn::Sequential pre_;
  std::vector<std::shared_ptr<Hourglass>> hourglasses_;
  std::vector<std::shared_ptr<Convolution>> cnvs_;
  std::vector<std::shared_ptr<Residual>> inters_;
  std::vector<torch::nn::Sequential> merges_of_input_, merges_of_map_;  ///< inters_ and cnvs_ of the reference
};

/// Modules named by their index.
template <class Modules>
torch::nn::ModuleList module_list(const Modules& modules) {
  torch::nn::ModuleList list;
  for (const auto& module : modules) list->push_back(module);
  return list;
}

}  // namespace flowtrain::nets::cornernet
