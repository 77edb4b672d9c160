#include "stages/torch/learner/clipping.h"

#include <algorithm>

#include "sampling/core/settings.h"

namespace flowtrain {

namespace {

nets::ClipSpec clip_spec(const Settings& train) {
  const std::string& by = train.text("clip_by");
  const auto kind = by == "norm" ? nets::ClipBy::norm : by == "value" ? nets::ClipBy::value : nets::ClipBy::adaptive;
  return {kind, train.real("clip"), train.real("clip_p")};
}

}  // namespace

Clipping::Clipping(const LearnerSpec& spec, const SharedOut& shared) {
  const nets::ClipSpec common = clip_spec(spec.train);
  parts_.push_back({{}, common});
  for (std::size_t i = 0; i < spec.optims.size(); ++i) {
    const double own = spec.optims[i].real("clip");
    if (own >= 0) parts_.push_back({{}, {common.by, own, common.p}});
    Part& part = own >= 0 ? parts_.back() : parts_.front();
    for (auto& group : shared.optimizers[i])
      for (const auto& [name, parameter] : group.parameters) part.parameters.add(name, parameter);
  }
  std::erase_if(parts_, [](auto& each) { return each.parameters.empty(); });
}

bool Clipping::limits() const {
  return std::any_of(parts_.begin(), parts_.end(), [](auto& each) { return each.spec.limit > 0; });
}

at::Tensor Clipping::clip() {
  at::Tensor norm, squares, cut;
  for (auto& part : parts_) {
    const nets::Clipped clipped = nets::clip_gradients(part.parameters, part.spec);
    norm = clipped.norm;
    squares = squares.defined() ? squares + clipped.norm.square() : clipped.norm.square();
    if (clipped.cut.defined()) cut = cut.defined() ? at::maximum(cut, clipped.cut) : clipped.cut;
  }
  if (cut.defined() && !cuts_.defined()) cuts_ = at::zeros_like(cut);
  if (cut.defined()) cuts_.add_(cut);  // in place, as whoever repeats this (a CUDA graph) does it in the same memory
  return parts_.size() > 1 ? squares.sqrt() : norm;
}

void Clipping::forget_cuts() {
  if (cuts_.defined()) cuts_.zero_();
}

}  // namespace flowtrain
