#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include "nets/cornernet/cornernet.h"

#include <algorithm>
#include <stdexcept>

#include "nets/cornernet/hourglass.h"
#include "nets/names.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

using namespace cornernet;
using torch::nn::Sequential;

/// The plan of one of the three nets.
struct Plan {
  std::string name;
  StackPlan stack;
  std::int64_t head_kernel = 3;
  bool attention = false;
};

Plan published(const std::string& name) {
  if (name == "cornernet") {
    return {name, {{128, 256}, {{256, 256, 384, 384, 384, 512}, {2, 2, 2, 2, 2, 4}}, 2}};
  }
  if (name == "cornernet_squeeze") {
    return {name, {{128, 256, 256}, {{256, 256, 384, 384, 512}, {2, 2, 2, 2, 4}, /*fire=*/true}, 2}, /*head_kernel=*/1};
  }
  if (name == "cornernet_saccade") {
    return {name, {{128, 256}, {{256, 384, 384, 512}, {1, 1, 1, 1}}, 3}, /*head_kernel=*/3, /*attention=*/true};
  }
  throw unknown_name("CornerNet", name, {"cornernet", "cornernet_saccade", "cornernet_squeeze"});
}

/// Returns the plan of the net that `settings` names, with the changes that they ask for.
Plan plan_of(const Settings& settings) {
  Plan plan = published(settings.text("name"));
  StackPlan& stack = plan.stack;
  if (const std::int64_t stacks = settings.integer("stacks"); stacks > 0) stack.stacks = stacks;
  const auto change = [&](std::vector<std::int64_t>& to, const char* key) {
    if (const auto& given = settings.integers(key); !given.empty()) to = given;
  };
  change(stack.pre, "stem");
  change(stack.hourglass.widths, "widths");
  change(stack.hourglass.blocks, "blocks");
  const auto& [widths, blocks, fire] = stack.hourglass;
  if (widths.size() != blocks.size() || widths.size() < 2)
    throw std::invalid_argument(c10::str("net ", plan.name, ": ", widths.size(), " widths and ", blocks.size(),
                                         " blocks, expected as many of each, and two at least"));
  if (stack.pre.back() != widths.front())
    throw std::invalid_argument(c10::str("net ", plan.name, ": its stem ends with width ", stack.pre.back(),
                                         ", its hourglass begins with ", widths.front(), ", expected the same"));
  if (plan.attention && widths.size() != 4)
    throw std::invalid_argument("net " + plan.name + ": expected four widths, for three attention maps");
  return plan;
}

/// Throws std::invalid_argument unless the map after the stem halves evenly down to the innermost one.
void check_sides(const Plan& plan, std::int64_t height, std::int64_t width) {
  const std::int64_t stride = std::int64_t{1} << plan.stack.pre.size();
  const std::int64_t multiple = std::int64_t{1} << (plan.stack.hourglass.widths.size() - 1);
  // Every part of the stem rounds up, so the whole stem does.
  const auto works = [&](std::int64_t side) { return side > 0 && (side + stride - 1) / stride % multiple == 0; };
  if (works(height) && works(width)) return;
  throw std::invalid_argument(c10::str("net ", plan.name, ": pictures are ", height, " x ", width,
                                       " pixels, expected sides that are multiples of ", stride * multiple,
                                       " or up to ", stride - 1, " less, such as 255 or 511"));
}

/// The bias of heat-map heads, which makes about 0.1 of the pixels positive at the start: log(0.1 / 0.9), rounded as in
/// the reference (T.-Y. Lin et al., "Focal loss for dense object detection", ICCV 2017, section 3.3).
constexpr double prior = -2.19;

using Heads = std::vector<Sequential>;

void set_prior(const Heads& heads) {
  const torch::NoGradGuard no_gradients;
  for (const Sequential& head : heads) head->ptr(1)->as<torch::nn::Conv2d>()->bias.fill_(prior);
}

}  // namespace

class CornerNetModule final : public torch::nn::Module {
 public:
  // The modules are made in the order of the reference, which is the order of the random draws; only the attention
  // heads are registered elsewhere.
  CornerNetModule(const Plan& plan, std::int64_t channels, std::int64_t classes)
      : plan_(plan), hourglasses_(register_module("hg", std::make_shared<HourglassStack>(plan.stack, channels))) {
    const auto& widths = plan.stack.hourglass.widths;
    const std::int64_t width = widths.at(0);
    const std::int64_t stacks = plan.stack.stacks;
    if (plan.attention) {
      for (std::int64_t i = 0; i < stacks; ++i) {
        Heads heads;
        for (std::size_t level = widths.size() - 1; level-- > 0;) heads.push_back(head(3, widths[level], width, 1));
        attention_.push_back(heads);
      }
    }
    for (const Corner corner : {Corner::top_left, Corner::bottom_right}) {
      auto& pools = corner == Corner::top_left ? top_left_.pools : bottom_right_.pools;
      for (std::int64_t i = 0; i < stacks; ++i) pools.push_back(std::make_shared<CornerPoolBlock>(width, corner));
      register_module(corner == Corner::top_left ? "tl_modules" : "br_modules", module_list(pools));
    }
    const auto add_heads = [&](Heads CornerHeads::*which, const std::string& name, std::int64_t out) {
      for (CornerHeads* const corner : {&top_left_, &bottom_right_}) {
        Heads& heads = corner->*which;
        for (std::int64_t i = 0; i < stacks; ++i) heads.push_back(head(plan.head_kernel, width, width, out));
        register_module((corner == &top_left_ ? "tl_" : "br_") + name, module_list(heads));
      }
    };
    add_heads(&CornerHeads::heats, "heats", classes);
    add_heads(&CornerHeads::tags, "tags", 1);
    add_heads(&CornerHeads::offs, "offs", 2);
    set_prior(top_left_.heats);
    set_prior(bottom_right_.heats);

    if (!plan.attention) return;
    torch::nn::ModuleList attention;
    for (const Heads& heads : attention_) {
      set_prior(heads);
      attention->push_back(module_list(heads));
    }
    register_module("att_modules", attention);
  }

  NamedTensors all_maps(const at::Tensor& image) {
    check_sides(plan_, image.size(2), image.size(3));
    const StackFeatures features = hourglasses_->forward(image, plan_.attention);
    NamedTensors maps;
    for (std::size_t i = 0; i < features.maps.size(); ++i) {
      const std::string number = std::to_string(i);
      add_corners(maps, features.maps[i], i, number);
      if (plan_.attention) add_attention(maps, features.merged[i], i, number + "_");
    }
    return maps;
  }

  bool has_attention() const { return plan_.attention; }

  NamedTensors last_maps(const at::Tensor& image, bool attention) {
    check_sides(plan_, image.size(2), image.size(3));
    if (attention && !plan_.attention) {
      throw std::invalid_argument("net " + plan_.name + " has no attention maps, only cornernet_saccade has");
    }
    const StackFeatures features = hourglasses_->forward(image, attention);
    const std::size_t last = features.maps.size() - 1;
    NamedTensors maps;
    add_corners(maps, features.maps[last], last, "");
    if (attention) add_attention(maps, features.merged[last], last, "");
    return maps;
  }

 private:
  struct CornerHeads {
    std::vector<std::shared_ptr<CornerPoolBlock>> pools;
    Heads heats, tags, offs;
  };

  /// Returns a head's output as f32, which losses and decoders need; under autocast a head gives a reduced type.
  static at::Tensor raw(Sequential& head, const at::Tensor& features) { return head->forward(features).to(at::kFloat); }

  void add_corners(NamedTensors& maps, const at::Tensor& features, std::size_t stack, const std::string& number) {
    const at::Tensor tl = top_left_.pools[stack]->forward(features), br = bottom_right_.pools[stack]->forward(features);
    maps.set("tl_heat" + number, raw(top_left_.heats[stack], tl));
    maps.set("br_heat" + number, raw(bottom_right_.heats[stack], br));
    maps.set("tl_tag" + number, raw(top_left_.tags[stack], tl));
    maps.set("br_tag" + number, raw(bottom_right_.tags[stack], br));
    maps.set("tl_off" + number, raw(top_left_.offs[stack], tl));
    maps.set("br_off" + number, raw(bottom_right_.offs[stack], br));
  }

  void add_attention(NamedTensors& maps, const std::vector<at::Tensor>& merged, std::size_t stack,
                     const std::string& number) {
    for (std::size_t i = 0; i < merged.size(); ++i) {
      maps.set("att" + number + std::to_string(i), raw(attention_[stack][i], merged[i]));
    }
  }

  Plan plan_;
  std::shared_ptr<HourglassStack> hourglasses_;
  std::vector<Heads> attention_;  ///< indexed by stack, then innermost first; empty if the net has none
  CornerHeads top_left_, bottom_right_;
};

namespace {

std::shared_ptr<CornerNetModule> make_module(const Settings& settings, const NetInput& input) {
  const Plan plan = plan_of(settings);
  check_sides(plan, input.height, input.width);
  return std::make_shared<CornerNetModule>(plan, input.channels, input.classes);
}

}  // namespace

CornerNet::CornerNet(const Settings& settings, const NetInput& input) : CornerNet(make_module(settings, input)) {}
CornerNet::CornerNet(std::shared_ptr<CornerNetModule> module) : ModuleNet(module), net_(std::move(module)) {}

NamedTensors CornerNet::forward(const NamedTensors& batch) { return net_->all_maps(batch.at("image")); }
NamedTensors CornerNet::outputs(const NamedTensors& batch, const std::vector<std::string>& names) {
  const bool attention = std::ranges::any_of(names, [](auto& name) { return name.starts_with("att"); });
  return net_->last_maps(batch.at("image"), attention);
}
bool CornerNet::may_give(const std::string& output) const {
  return output.starts_with("tl_") || output.starts_with("br_") || (net_->has_attention() && output.starts_with("att"));
}
#endif

namespace {

const std::vector<Key> net_keys = {
    {"stacks", Kind::integer, std::int64_t{0}, "number of hourglasses in a row; 0: the published number", 0, 16},
    {"stem", Kind::integers, std::vector<std::int64_t>{},
     "widths of the layers before the hourglass, each of which halves the size; empty: the published ones", 1, 1 << 16},
    {"widths", Kind::integers, std::vector<std::int64_t>{},
     "widths of the hourglass's levels, each of which halves the size; empty: the published ones", 1, 1 << 16},
    {"blocks", Kind::integers, std::vector<std::int64_t>{},
     "numbers of blocks of the hourglass's levels; empty: the published ones", 1, 64}};

}  // namespace

FLOWTRAIN_PARTS(cornernet) {
  const auto add = [&](const char* name, const char* help, const char* detector) {
    parts.nets.add({name,
                    help,
                    net_keys,
                    FLOWTRAIN_MAKE([](const Settings& settings, const NetInput& input) {
                      return std::make_unique<CornerNet>(settings, input);
                    }),
                    {.detector = detector}});
  };
  add("cornernet", "CornerNet with hourglass-104; sides up to 3 less than a multiple of 128", "cornernet");
  add("cornernet_squeeze", "CornerNet-Squeeze; sides up to 7 less than a multiple of 128", "cornernet");
  add("cornernet_saccade", "CornerNet-Saccade, with attention maps; sides up to 3 less than a multiple of 32",
      "cornernet_saccade");
}

}  // namespace flowtrain::nets
