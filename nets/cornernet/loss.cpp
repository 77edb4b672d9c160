#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include "nets/cornernet/loss.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "nets/cornernet/decode.h"
#include "nets/cornernet/gaussians.h"
#include "nets/losses/loss.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

constexpr double least = 1e-4;  // distance of a probability from 0 and 1; also keeps divisors from 0

/// The focal loss with a formula for its gradient; autograd would keep about ten tensors of the maps' size.
class Focal : public torch::autograd::Function<Focal> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& target, const std::optional<at::Tensor>& valid) {
    const at::Tensor positive = target.eq(1);
    const at::Tensor divisor = positive.sum().clamp_min(1);
    context->save_for_backward({logits, target, divisor, valid.value_or(at::Tensor())});
    const at::Tensor p = at::sigmoid(logits).clamp_(least, 1 - least);
    const at::Tensor q = 1 - p;
    at::Tensor terms =
        at::where(positive, q.square().mul_(p.log()), other_weight(target).mul_(p.square()).mul_(q.log()));
    if (valid) terms.mul_(*valid);
    return terms.sum().neg_().div_(divisor);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &logits = saved[0], &target = saved[1], &divisor = saved[2], &valid = saved[3];
    const at::Tensor free = at::sigmoid(logits);
    const at::Tensor p = free.clamp(least, 1 - least);
    const at::Tensor q = 1 - p;
    const at::Tensor positive = (p * 2).mul_(q.square()).mul_(p.log()).sub_(q.pow(3));
    const at::Tensor other = other_weight(target).mul_(p.pow(3).sub_(p.square().mul_(q).mul_(q.log()).mul_(2)));
    at::Tensor gradient = at::where(target.eq(1), positive, other);
    gradient.masked_fill_(free.ne(p), 0);
    if (valid.defined()) gradient.mul_(valid);
    return {gradient.mul_(gradients[0] / divisor), {}, {}};
  }

 private:
  /// Returns the weight of cells without a corner: lower near one.
  static at::Tensor other_weight(const at::Tensor& target) { return (1 - target).pow_(4); }
};

/// The whole loss, averaged over stacks. It reads these outputs, for each stack S from 0 and for tl and br:
///   `tl_heatS` (B, C, H, W), `tl_tagS` (B, 1, H, W), `tl_offS` (B, 2, H, W); with `saccade` `attS_0` … `attS_2`
/// and these fields of the batch, with N slots for objects each:
///   `gaussians` (B, M, 7) i32 as in gaussians.h, or the maps drawn from them: `tl_heat` (B, C, H, W) f32, with
///   `saccade` also `tl_valid`; `tl_ind` (B, N) i64, `tl_off` (B, N, 2) f32, `mask` (B, N) u8 or bool; with `saccade`
///   `att0` … `att2` f32 as the outputs.
/// `loss` is the sum of its weighted parts `focal`, `pull`, `push`, `off` and, with `saccade`, `att`. `cells` (B, 2)
/// i32, if the batch has it, is the maps' height and width; it is compared with the first outputs only, because reading
/// it waits for the device. The attention part is divided by the number of stacks twice, as in the reference, whose
/// weights were trained so. `untagged` (B) i32, if the batch has it, is the number of an image's objects without a tag,
/// and is averaged. Throws std::invalid_argument for outputs of another size.
class CornerLoss final : public Loss {
 public:
  explicit CornerLoss(const Settings& settings)
      : pull_weight_(settings.real("pull_weight")),
        push_weight_(settings.real("push_weight")),
        off_weight_(settings.real("off_weight")),
        saccade_(settings.text("name") == "cornernet_saccade") {}

  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const override {
    const int stacks = count_stacks(outputs);
    check_cells(outputs.at("tl_heat0"), batch);
    const CornerHeat targets = heat_of(batch, outputs.at("tl_heat0"));
    Parts sum;
    for (int stack = 0; stack < stacks; ++stack) add(sum, outputs, std::to_string(stack), batch, targets);

    NamedTensors result{{"loss", {}}};
    auto put = [&](const std::string& name, const at::Tensor& part, double weight) {
      const at::Tensor weighed = part * (weight / stacks);
      const at::Tensor& loss = result.at("loss");
      result.set("loss", loss.defined() ? loss + weighed : weighed);
      result.set(name, weighed);
    };
    put("focal", sum.focal, 1);
    if (saccade_) put("att", sum.attention, 1.0 / stacks);
    put("pull", sum.pull, pull_weight_);
    put("push", sum.push, push_weight_);
    put("off", sum.off, off_weight_);
    result.set("untagged", batch.contains("untagged") ? batch.at("untagged").to(at::kFloat).mean()
                                                      : at::zeros({}, result.at("loss").options()));
    return result;
  }

  std::vector<std::string> scalars() const override {
    if (saccade_) return {"focal", "att", "pull", "push", "off", "untagged"};
    return {"focal", "pull", "push", "off", "untagged"};
  }

 private:
  struct Parts {
    at::Tensor focal, attention, pull, push, off;
  };

  static int count_stacks(const NamedTensors& outputs) {
    outputs.at("tl_heat0");  // throws with the names that are there
    int stacks = 1;
    while (outputs.contains("tl_heat" + std::to_string(stacks))) ++stacks;
    return stacks;
  }

  void check_cells(const at::Tensor& output, const NamedTensors& batch) const {
    if (checked_ || !batch.contains("cells")) return;
    const at::Tensor cells = batch.at("cells")[0].cpu();
    const std::int64_t height = cells[0].item<std::int64_t>(), width = cells[1].item<std::int64_t>();
    if (output.size(2) != height || output.size(3) != width)
      throw std::invalid_argument(c10::str("the net gives maps of ", output.size(2), "x", output.size(3),
                                           " cells, the batch has targets for ", height, "x", width));
    checked_ = true;
  }

  CornerHeat heat_of(const NamedTensors& batch, const at::Tensor& output) const {
    if (batch.contains("gaussians"))
      return draw_gaussians(batch.at("gaussians"), output.size(1), output.size(2), output.size(3), saccade_);
    CornerHeat given{batch.at("tl_heat"), batch.at("br_heat"), {}, {}};
    if (saccade_) given.tl_valid = batch.at("tl_valid"), given.br_valid = batch.at("br_valid");
    return given;
  }

  void add(Parts& sum, const NamedTensors& outputs, const std::string& stack, const NamedTensors& batch,
           const CornerHeat& targets) const {
    auto add_to = [](at::Tensor& total, const at::Tensor& part) { total = total.defined() ? total + part : part; };
    const at::Tensor& mask = batch.at("mask");
    add_to(sum.focal, focal_loss(outputs.at("tl_heat" + stack), targets.tl, targets.tl_valid));
    add_to(sum.focal, focal_loss(outputs.at("br_heat" + stack), targets.br, targets.br_valid));
    for (const char* corner : {"tl", "br"}) {
      const at::Tensor offset =
          at_cells(outputs.at(c10::str(corner, "_off", stack)), batch.at(c10::str(corner, "_ind")));
      add_to(sum.off, offset_loss(offset, batch.at(c10::str(corner, "_off")), mask));
    }
    const at::Tensor tl = at_cells(outputs.at("tl_tag" + stack), batch.at("tl_ind")).squeeze(2);
    const at::Tensor br = at_cells(outputs.at("br_tag" + stack), batch.at("br_ind")).squeeze(2);
    const TagLoss tags = tag_loss(tl, br, mask);
    add_to(sum.pull, tags.pull);
    add_to(sum.push, tags.push);
    if (!saccade_) return;
    for (const int size : {0, 1, 2})
      add_to(sum.attention, focal_loss(outputs.at(c10::str("att", stack, "_", size)), batch.at(c10::str("att", size))));
  }

  double pull_weight_, push_weight_, off_weight_;
  bool saccade_;
  mutable bool checked_ = false;  // the first batch's size was checked
};

}  // namespace

at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& valid) {
  if (logits.sizes() != target.sizes())
    throw std::invalid_argument(
        c10::str("the net gives maps of ", logits.sizes(), ", the batch has maps of ", target.sizes()));
  return Focal::apply(logits.to(at::kFloat), target, valid.defined() ? std::optional(valid) : std::nullopt);
}

TagLoss tag_loss(const at::Tensor& tl, const at::Tensor& br, const at::Tensor& mask) {
  const at::Tensor there = mask.ne(0);
  const at::Tensor count = there.sum(1, /*keepdim=*/true).to(tl.scalar_type());  // (B, 1)
  const at::Tensor mean = (tl + br) / 2;
  const at::Tensor spread = ((tl - mean).square() + (br - mean).square()) / (count + least);

  const at::Tensor objects = count.unsqueeze(2);  // (B, 1, 1)
  const at::Tensor gap = (mean.unsqueeze(1) - mean.unsqueeze(2)).abs();
  const at::Tensor closeness = (at::relu(1 - gap) - 1 / (objects + least)) / ((objects - 1) * objects + least);
  const at::Tensor pair = there.unsqueeze(1).logical_and(there.unsqueeze(2));
  return {spread.masked_fill(there.logical_not(), 0).sum(), closeness.masked_fill(pair.logical_not(), 0).sum()};
}

at::Tensor offset_loss(const at::Tensor& offset, const at::Tensor& target, const at::Tensor& mask) {
  const at::Tensor there = mask.ne(0);
  const at::Tensor distance = at::smooth_l1_loss(offset, target, at::Reduction::None);
  return distance.masked_fill(there.logical_not().unsqueeze(2), 0).sum() / (there.sum() + least);
}
#endif

FLOWTRAIN_PARTS(corner_loss) {
  const auto add = [&](const char* name, const char* help) {
    parts.losses.add(
        {name,
         help,
         {{"pull_weight", Kind::real, 0.1, "weight of pulling the tags of an object's corners together", 0, 1e300},
          {"push_weight", Kind::real, 0.1, "weight of pushing the tags of different objects apart", 0, 1e300},
          {"off_weight", Kind::real, 1.0, "weight of the corners' offsets within their cells", 0, 1e300}},
         FLOWTRAIN_MAKE(
             [](const Settings& settings, const LossInput&) { return std::make_unique<CornerLoss>(settings); }),
         {.mixes = false}});
  };
  add("cornernet", "loss of the corners' heat maps, tags and offsets, for cornernet and cornernet_squeeze");
  add("cornernet_saccade", "loss of cornernet and of the attention maps, for cornernet_saccade");
}

}  // namespace flowtrain::nets
